"""The WSGI application."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dpgeo.config.settings")

application = get_wsgi_application()

# The pages can be imported only after Django is set up.
from dpgeo.pages.warming import warm  # noqa: E402

warm()
