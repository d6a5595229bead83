"""The Celery application. Every process that loads the settings has it, so that all can enqueue."""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dpgeo.config.settings")

app = Celery("dpgeo")
app.set_default()  # for the other threads of a web server, too
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
