"""Settings. Everything that differs between machines comes from the environment (see docs)."""

from __future__ import annotations

from pathlib import Path

import environ

BASE_DIR = Path(__file__).resolve().parent.parent.parent
env = environ.Env()

VAR_DIR = Path(env.str("DPGEO_VAR", default=str(BASE_DIR / "var")))
"""Everything this installation writes: database, private files, public files, queue."""

DEBUG = env.bool("DPGEO_DEBUG", default=False)


def read_secret_key() -> str:
    """The secret key of the environment, or one made once and kept in VAR_DIR."""
    if key := str(env.str("DPGEO_SECRET_KEY", default="")):
        return key
    path = VAR_DIR / "secret-key"
    if not path.exists():
        import os
        import secrets

        VAR_DIR.mkdir(parents=True, exist_ok=True)
        fresh = VAR_DIR / f"secret-key.{os.getpid()}"
        fresh.touch(mode=0o600)
        fresh.write_text(secrets.token_urlsafe(50))
        try:
            os.link(fresh, path)
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    return path.read_text()


SECRET_KEY = read_secret_key()
ALLOWED_HOSTS = env.list("DPGEO_HOSTS", default=["127.0.0.1", "localhost"])
CSRF_TRUSTED_ORIGINS = env.list("DPGEO_ORIGINS", default=[])

INSTALLED_APPS = [
    "dpgeo.accounts",
    "dpgeo.budgets",
    "dpgeo.jobs",
    "dpgeo.datasets",
    "dpgeo.releases",
    "dpgeo.api",
    "dpgeo.pages",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django_filters",
    "django_vite",
    "rest_framework",
    "drf_spectacular",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "dpgeo.config.urls"
WSGI_APPLICATION = "dpgeo.config.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

DATABASES = {"default": env.db("DATABASE_URL", default=f"sqlite:///{VAR_DIR / 'dpgeo.sqlite3'}")}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # Without these, concurrent writers meet "database is locked".
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "accounts.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "desk"
LOGOUT_REDIRECT_URL = "catalogue"

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "frontend" / "dist"] if (BASE_DIR / "frontend/dist").exists() else []
DJANGO_VITE = {"default": {"manifest_path": BASE_DIR / "frontend" / "dist" / "manifest.json"}}

STORAGES = {
    "default": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": str(VAR_DIR / "private")},
    },
    "private": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": str(VAR_DIR / "private"), "file_permissions_mode": 0o600},
    },
    "releases": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": str(VAR_DIR / "releases")},
    },
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedStaticFilesStorage"},
}
FILE_UPLOAD_HANDLERS = ["django.core.files.uploadhandler.TemporaryFileUploadHandler"]
DPGEO_MAX_UPLOAD_BYTES = env.int("DPGEO_MAX_UPLOAD_BYTES", default=20 * 1024**3)

CELERY_BROKER_URL = env.str("CELERY_BROKER_URL", default="filesystem://")
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
if CELERY_BROKER_URL.startswith("filesystem:"):
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(VAR_DIR / "queue" / "messages"),
        "data_folder_out": str(VAR_DIR / "queue" / "messages"),
        "control_folder": str(VAR_DIR / "queue" / "control"),
        "processed_folder": str(VAR_DIR / "queue" / "processed"),
        "store_processed": False,
        "polling_interval": 0.05,
    }

REST_FRAMEWORK = {
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.SessionAuthentication"],
}
SPECTACULAR_SETTINGS = {
    "TITLE": "dpgeo",
    "DESCRIPTION": "Differentially private maps of where people go.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
}
