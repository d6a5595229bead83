from django.apps import AppConfig


class DatasetsConfig(AppConfig):
    name = "dpgeo.datasets"

    def ready(self) -> None:
        """Connect the receivers of failed ingestion jobs."""
        from dpgeo.datasets import receivers

        receivers.connect()
