from django.apps import AppConfig


class PagesConfig(AppConfig):
    name = "dpgeo.pages"

    def ready(self) -> None:
        """Register the system check of the settings for map tiles from another server."""
        from dpgeo.pages import outside_ground  # noqa: F401
