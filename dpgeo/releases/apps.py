from django.apps import AppConfig


class ReleasesConfig(AppConfig):
    name = "dpgeo.releases"

    def ready(self) -> None:
        """Hear of accounts that end."""
        from dpgeo.releases import receivers

        receivers.connect()
