from django.apps import AppConfig


class DatasetsConfig(AppConfig):
    name = "dpgeo.datasets"

    def ready(self) -> None:
        """Register the system checks; connect the receivers of failed ingestion jobs."""
        from dpgeo.datasets import checks, receivers  # noqa: F401

        receivers.connect()
