from django.apps import AppConfig


class AuditConfig(AppConfig):
    name = "dpgeo.audit"

    def ready(self) -> None:
        """Register the Django system checks of this app."""
        from dpgeo.audit import otlp, syslog  # noqa: F401
