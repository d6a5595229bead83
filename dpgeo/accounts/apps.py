from django.apps import AppConfig
from django.contrib.admin import apps


class AccountsConfig(AppConfig):
    name = "dpgeo.accounts"
    default = True


class AdministrationConfig(apps.AdminConfig):
    default = False
    default_site = "dpgeo.accounts.sign_in_limits.Administration"
