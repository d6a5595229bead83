from django.apps import AppConfig
from django.contrib.admin import apps


class AccountsConfig(AppConfig):
    name = "dpgeo.accounts"
    default = True

    def ready(self) -> None:
        """Register the system checks."""
        from dpgeo.accounts import mail  # noqa: F401


class AdministrationConfig(apps.AdminConfig):
    default = False
    default_site = "dpgeo.accounts.sign_in_limits.Administration"
