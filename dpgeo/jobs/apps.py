from django.apps import AppConfig


class JobsConfig(AppConfig):
    name = "dpgeo.jobs"

    def ready(self) -> None:
        """Register the Django system checks of this app."""
        from dpgeo.jobs import disk_space  # noqa: F401
