from django.apps import AppConfig


class DatasetsConfig(AppConfig):
    name = "dpgeo.datasets"

    def ready(self) -> None:
        """Hear of failed ingestions."""
        from dpgeo.datasets import receivers

        receivers.connect()
