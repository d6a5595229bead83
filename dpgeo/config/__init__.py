"""Settings, URLs, Celery and WSGI configuration, without application logic."""

import gc

from dpgeo.config.celery import app as celery_app

__all__ = ["celery_app"]

# Loading makes some 160,000 objects, which stay. With Python's default, they are searched for
# garbage after every 700 new ones, which slows down the start of each process.
gc.set_threshold(50_000)
