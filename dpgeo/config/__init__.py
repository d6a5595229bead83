"""Settings, URLs, Celery and WSGI configuration, without application logic."""

from dpgeo.config.celery import app as celery_app

__all__ = ["celery_app"]
