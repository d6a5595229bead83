"""The Celery application, loaded with the settings so any process can queue tasks."""

from __future__ import annotations

import os
from logging.config import dictConfig

from celery import Celery
from celery.signals import setup_logging
from django.conf import settings
from kombu.transport import TRANSPORT_ALIASES

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dpgeo.config.settings")
# One thread a process: the workers already use all cores, and threads that multiply small matrices
# would only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

TRANSPORT_ALIASES["filesystem"] = "dpgeo.jobs.broker:Transport"

app = Celery("dpgeo")
app.set_default()  # also for the other threads of a web server
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@setup_logging.connect  # type: ignore[untyped-decorator]
def log_as_the_settings_say(**_: object) -> None:
    """Replace Celery's own logging, which would print the arguments of tasks."""
    dictConfig(settings.LOGGING)
