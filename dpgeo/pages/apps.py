from django.apps import AppConfig


class PagesConfig(AppConfig):
    name = "dpgeo.pages"

    def ready(self) -> None:
        """Register the system check of another server's ground."""
        from dpgeo.pages import outside_ground  # noqa: F401
