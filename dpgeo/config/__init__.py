"""Settings, URLs, Celery and WSGI configuration, without application logic."""

import gc

from dpgeo.config.celery import app as celery_app

__all__ = ["celery_app"]

# Loading the site makes some 160,000 objects, which are never freed. By default, Python searches
# for garbage after every 700 new objects, which slows down the start of each process.
gc.set_threshold(50_000)
