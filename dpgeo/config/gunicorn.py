"""Gunicorn settings (`-c python:dpgeo.config.gunicorn dpgeo.config.wsgi`)."""

import os
import resource
from pathlib import Path
from typing import Any

from dpgeo.config.logs import logging_settings
from dpgeo.config.places import usual_var

worker_class = "dpgeo.config.worker.SharingWorker"
workers = 2
threads = 4
worker_connections = 1000
backlog = 4096
timeout = 60  # seconds without a sign of life until a worker is killed; a request may take longer
graceful_timeout = 5
limit_request_line = 8190  # bytes, gunicorn's maximum; a longer request line gets a 414
keepalive = 5
accesslog = None  # no access log: nobody may learn who looks at which map
errorlog = "-"
loglevel = "warning"
control_socket_disable = True


def on_starting(server: Any) -> None:
    """Raise the limit on open files to eight per connection.

    Many systems allow only 1,024 by default.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = 8 * worker_connections
    wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    forget_counts()


def when_ready(server: Any) -> None:
    """Load the site once, before the workers are made as copies, which then share its memory.

    The port is open by now, so that visitors wait instead of being refused; with gunicorn's setting
    `preload_app`, the site would be loaded before. New code needs a restart; SIGHUP does not load
    it.
    """
    server.app.wsgi()


def forget_counts() -> None:
    """Delete the request counts (`api.metrics`) that the processes of the previous server left."""
    for path in (Path(os.environ.get("DPGEO_VAR") or usual_var()) / "metrics").glob("*.db"):
        path.unlink(missing_ok=True)


logconfig_dict = logging_settings()
