from django.apps import AppConfig


class ReleasesConfig(AppConfig):
    name = "dpgeo.releases"

    def ready(self) -> None:
        """Register the system checks, and connect the receivers that handle deleted accounts."""
        from dpgeo.releases import alerts, checks, receivers  # noqa: F401

        receivers.connect()
