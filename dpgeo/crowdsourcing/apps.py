from django.apps import AppConfig


class CrowdsourcingConfig(AppConfig):
    name = "dpgeo.crowdsourcing"
