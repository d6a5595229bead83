"""How gunicorn serves the site: `gunicorn -c python:dpgeo.config.gunicorn dpgeo.config.wsgi`."""

from dpgeo.config.logs import logging_settings

worker_class = "dpgeo.config.worker.SharingWorker"
workers = 2
threads = 4
timeout = 60  # a stuck worker's, not a request's: an upload may take as long as it takes
graceful_timeout = 5
limit_request_line = 8190  # bytes, the most it can be; the worker answers longer ones with 414
keepalive = 5
accesslog = None  # who looks at which map is nobody's business
errorlog = "-"
loglevel = "warning"
control_socket_disable = True
logconfig_dict = logging_settings()
