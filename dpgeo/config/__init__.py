"""Settings, URLs, Celery and WSGI, without any logic of their own."""

from dpgeo.config.celery import app as celery_app

__all__ = ["celery_app"]
