from django.apps import AppConfig


class DatasetsConfig(AppConfig):
    name = "dpgeo.datasets"
