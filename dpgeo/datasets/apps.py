from django.apps import AppConfig


class DatasetsConfig(AppConfig):
    name = "dpgeo.datasets"

    def ready(self) -> None:
        """Register the system checks, and connect the receiver for failed jobs."""
        from dpgeo.datasets import checks, receivers  # noqa: F401

        receivers.connect()
