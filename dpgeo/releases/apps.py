from django.apps import AppConfig


class ReleasesConfig(AppConfig):
    name = "dpgeo.releases"

    def ready(self) -> None:
        """Connect the signal receivers that handle deleted accounts."""
        from dpgeo.releases import receivers

        receivers.connect()
