"""Settings, URLs, Celery and WSGI: no logic."""
