from django.apps import AppConfig
from django.contrib.admin import apps


class AccountsConfig(AppConfig):
    name = "dpgeo.accounts"
    default = True

    def ready(self) -> None:
        """Register the system checks and connect the receivers of signals."""
        from dpgeo.accounts import (  # noqa: F401
            breached,
            mail,
            providers,
            receivers,
            site_links,
        )

        receivers.connect()


class AdministrationConfig(apps.AdminConfig):
    default = False
    default_site = "dpgeo.accounts.sign_in_limits.Administration"
