"""The Celery application, loaded with the settings so that any process can queue tasks."""

from __future__ import annotations

import os
import sys
from logging.config import dictConfig

from celery import Celery
from celery.signals import setup_logging, worker_init, worker_process_init
from django.conf import settings
from kombu.transport import TRANSPORT_ALIASES

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dpgeo.config.settings")
# Let OpenBLAS use one thread per process: the workers already use all cores, and threads that
# multiply small matrices would only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

TRANSPORT_ALIASES["filesystem"] = "dpgeo.jobs.broker:Transport"

app = Celery("dpgeo")
# Make this the default application in all threads, because a web server's other threads queue tasks
# too.
app.set_default()
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

_worker = 0
"""Process id of the main process of this worker; 0 in processes that are no Celery workers."""


@setup_logging.connect  # type: ignore[untyped-decorator]
def log_as_the_settings_say(**_: object) -> None:
    """Replace Celery's own logging, which would print the arguments of tasks."""
    dictConfig(settings.LOGGING)


@worker_init.connect  # type: ignore[untyped-decorator]
def remember_worker(**_: object) -> None:
    """Remember the id of the worker's main process, before it starts its pool.

    Standard output is for the audit list alone, so what Celery prints when it stops is discarded.
    """
    global _worker
    _worker = os.getpid()
    sys.__stdout__ = open(os.devnull, "w")  # type: ignore[misc]  # noqa: PTH123, SIM115


@worker_process_init.connect  # type: ignore[untyped-decorator]
def check_that_the_worker_runs(**_: object) -> None:
    """End this new pool process if the worker's main process has been killed already.

    Celery asks the kernel to kill pool processes with the main process, but a pool process that
    started too late for this would wait for jobs for ever.
    """
    if os.getppid() != _worker:
        os._exit(1)
