"""Settings of gunicorn (`-c python:dpgeo.config.gunicorn dpgeo.config.wsgi`)."""

from dpgeo.config.logs import logging_settings

worker_class = "dpgeo.config.worker.SharingWorker"
workers = 2
threads = 4
timeout = 60  # applies to a stuck worker, not to a request: an upload may take any time
graceful_timeout = 5
limit_request_line = 8190  # bytes, gunicorn's maximum; the worker answers longer lines with 414
keepalive = 5
accesslog = None  # nobody may learn who looks at which map
errorlog = "-"
loglevel = "warning"
control_socket_disable = True
logconfig_dict = logging_settings()
