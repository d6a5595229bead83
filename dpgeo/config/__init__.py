"""Settings, URLs, Celery and WSGI: no logic."""

from dpgeo.config.celery import app as celery_app

__all__ = ["celery_app"]
