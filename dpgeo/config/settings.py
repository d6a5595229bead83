"""Django settings; everything that differs between machines comes from the environment."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

import environ
from django.utils.translation import to_language

from dpgeo.config.logs import logging_settings
from dpgeo.config.places import BASE_DIR, usual_var
from dpgeo.core.linux import forbid_inspection

# Whatever loads the settings holds the keys below, and passes this on to processes forked from it.
forbid_inspection()

env = environ.Env()

VAR_DIR = Path(env.str("DPGEO_VAR", default=str(usual_var())))
"""Folder for everything that this installation writes: database, private and public files, queue.
"""

PRIVATE_DIR = VAR_DIR / "private"
INCOMING_DIR = VAR_DIR / "incoming"
RELEASES_DIR = VAR_DIR / "releases"
QUEUE_DIR = VAR_DIR / "queue"
GROUND_DIR = VAR_DIR / "ground"
STATIC_ROOT = Path(env.str("DPGEO_STATIC", default=str(VAR_DIR / "static")))
# Create outer folders before inner ones, because `mkdir` ignores the mode for missing parents. Only
# the server's own user may open the folders, because the database holds keys and private reports.
# `collectstatic` opens the folder of scripts to everybody.
for folder in (
    *(VAR_DIR, PRIVATE_DIR, INCOMING_DIR, RELEASES_DIR, STATIC_ROOT),
    *(QUEUE_DIR, QUEUE_DIR / "messages", GROUND_DIR),
):
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)

DEBUG = env.bool("DPGEO_DEBUG", default=False)
DEMO = env.bool("DPGEO_DEMO", default=False)
LOGS_ARE_JSON = env.str("DPGEO_LOG_FORMAT", default="text") == "json"
LOGGING = logging_settings(
    json=LOGS_ARE_JSON,
    level=env.str("DPGEO_LOG_LEVEL", default="INFO"),
)


def read_secret_key() -> str:
    """Return the secret key from the environment, or one generated once and kept in VAR_DIR."""
    if key := str(env.str("DPGEO_SECRET_KEY", default="")):
        return key
    path = VAR_DIR / "secret-key"
    if not path.exists():
        VAR_DIR.mkdir(parents=True, exist_ok=True)
        # Name the temporary file by random bytes, not by the process id: processes of several
        # containers that share the folder may have the same id.
        fresh = VAR_DIR / f"secret-key.{secrets.token_hex(8)}"
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
SECRET_KEY_FALLBACKS = env.list("DPGEO_SECRET_KEY_FALLBACKS", default=[])

PERSON_KEY = env.str("DPGEO_PERSON_KEY", default="")
"""Key that encrypts the datasets' own keys, with which ids of persons are hashed.

If it is empty, the key is read from PERSON_KEY_FILE.
"""
PERSON_KEY_FILE = env.str("DPGEO_PERSON_KEY_FILE", default=str(VAR_DIR / "person-key"))
ALLOWED_HOSTS = env.list("DPGEO_HOSTS", default=["127.0.0.1", "localhost"])
DPGEO_ORIGIN = env.str("DPGEO_ORIGIN", default="http://127.0.0.1:8000").rstrip("/")
"""What visitors see before the first slash of this site's URLs; links in mail begin with it."""
CSRF_TRUSTED_ORIGINS = [DPGEO_ORIGIN, *env.list("DPGEO_ORIGINS", default=[])]

HTTPS = env.bool("DPGEO_HTTPS", default=False)
"""Whether the site is served over HTTPS, by a proxy that sets X-Forwarded-Proto itself."""

SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = HTTPS
# Do not redirect these to https: health checks and metrics are requested directly, not through the
# proxy, and the API refuses requests over http with an error (`api.problems`).
SECURE_REDIRECT_EXEMPT = [r"^(healthz|readyz|metrics)$", r"^(api|ogc)/"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_HSTS_SECONDS = env.int("DPGEO_HSTS_SECONDS", default=31_536_000 if HTTPS else 0)
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
SECURE_REFERRER_POLICY = "same-origin"  # other sites must not learn a draft's secret URL
CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_AGE = 12 * 3600
COOKIE_PREFIX = "__Host-" if HTTPS else ""
"""With this prefix, browsers accept a cookie only from this exact host, and only over HTTPS."""
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = (
    f"{COOKIE_PREFIX}dpgeo_session",
    f"{COOKIE_PREFIX}dpgeo_csrf",
)
DPGEO_DEVICE_COOKIE = f"{COOKIE_PREFIX}dpgeo_device"
X_FRAME_OPTIONS = "DENY"

DPGEO_OIDC: list[dict[str, Any]] = env.json("DPGEO_OIDC", default=[])
"""Providers of single sign-on by OpenID Connect; see docs/sign-in.md."""

DPGEO_SAML: list[dict[str, Any]] = env.json("DPGEO_SAML", default=[])
"""Providers of single sign-on by SAML, which needs the packages in locks/saml.txt."""

INSTALLED_APPS = [
    "dpgeo.audit",
    "dpgeo.accounts",
    "dpgeo.webhooks",
    "dpgeo.budgets",
    "dpgeo.jobs",
    "dpgeo.datasets",
    "dpgeo.releases",
    "dpgeo.crowdsourcing",
    "dpgeo.api",
    "dpgeo.pages",
    "dpgeo.commands",
    "dpgeo.accounts.apps.AdministrationConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.sitemaps",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    # Load allauth's OpenID Connect and SAML only on sites that use them: importing takes time.
    *(["allauth.socialaccount.providers.openid_connect"] if DPGEO_OIDC else []),
    *(["allauth.socialaccount.providers.saml"] if DPGEO_SAML else []),
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_vite",
    "rest_framework",
    "drf_spectacular",
]

MIDDLEWARE = [
    "dpgeo.config.hosts.plain_host",
    "dpgeo.config.request_ids.request_id",
    "dpgeo.api.metrics.counted_requests",
    "django.middleware.security.SecurityMiddleware",
    "dpgeo.config.security.content_security_policy",
    "dpgeo.api.problems.ProblemMiddleware",
    "dpgeo.api.published_files.published_files",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "dpgeo.config.compression.CompressedText",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "dpgeo.config.languages.page_language",
    "dpgeo.audit.origin.audited_request",
    "django.middleware.common.CommonMiddleware",
    # Middleware that reads a request's body must come after OutageMiddleware: reading a body stores
    # its files, which fails during an outage.
    "dpgeo.api.outages.OutageMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "dpgeo.accounts.second_factor.proved_sessions",
    "allauth.account.middleware.AccountMiddleware",
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
# Keep connections open between requests, because connecting takes longer than most queries.
DATABASES["default"]["CONN_MAX_AGE"] = env.int("DPGEO_CONNECTION_SECONDS", default=60)
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"]["OPTIONS"] = {
        # Without IMMEDIATE, concurrent writers fail with "database is locked".
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        # Use FULL, because a debit must survive a power cut: if a release was published but its
        # debit were lost, the budget could be spent twice. WAL with NORMAL may lose the last
        # transactions.
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
        **DATABASES["default"].get("OPTIONS", {}),  # options in the database's URL, as ?timeout=5
    }
else:
    # Test a persistent connection before use, so that no request fails after a restart of the
    # database server.
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
    # If the server's machine is gone, answer after 5 s that it is: by default, every thread would
    # wait for it for minutes, and none would be left to serve even that answer.
    DATABASES["default"]["OPTIONS"] = {
        "connect_timeout": 5,
        **DATABASES["default"].get("OPTIONS", {}),
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "accounts.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "dpgeo.accounts.context_words.ContextWordsValidator"},
    {"NAME": "dpgeo.accounts.breached.BreachedPasswordValidator"},
]
DPGEO_PASSWORD_WORDS = env.list("DPGEO_PASSWORD_WORDS", default=[])
"""Further words that are easy to guess at this site, such as names of projects."""
DPGEO_BREACHED_PASSWORDS = env.str("DPGEO_BREACHED_PASSWORDS", default="")
"""File of SHA-1 hashes of breached passwords, ordered by hash."""
DPGEO_SECOND_FACTOR = env.str("DPGEO_SECOND_FACTOR", default="")
"""Lowest role whose members need a second factor in every organisation, or "staff" if only the
site's staff and superusers need one; if it is empty, each organisation decides.
"""
ACCOUNT_ADAPTER = "dpgeo.accounts.allauth_adapters.AccountAdapter"
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_RATE_LIMITS = False  # not allauth but `sign_in_limits` and `codes` limit attempts
ACCOUNT_LOGIN_TIMEOUT = 600
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*", "password2*"]
SOCIALACCOUNT_ADAPTER = "dpgeo.accounts.single_sign_on.SocialAdapter"
MFA_ADAPTER = "dpgeo.accounts.allauth_adapters.FactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
# Require that the user's device verifies who uses it (by a PIN or a fingerprint), even where a
# passkey is only the second factor. Otherwise a challenge for the second factor could be answered
# to sign in without a password.
MFA_WEBAUTHN_USER_VERIFICATION = "required"
# Users may set up a second factor before they verify their email address. This is safe, since
# nobody can sign up with another person's address.
MFA_ALLOW_UNVERIFIED_EMAIL = True
MFA_TOTP_TOLERANCE = 1
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "desk"
LOGOUT_REDIRECT_URL = "catalogue"

# By default, send no mail at all. Printing mail instead would put links that set a password into
# the log.
vars().update(env.email_url("DPGEO_EMAIL_URL", default="dummymail://"))
EMAIL_TIMEOUT = 20  # seconds for each reply, since files of readers wait in the same queue
DEFAULT_FROM_EMAIL = env.str("DPGEO_EMAIL_FROM", default="dpgeo@localhost")

LANGUAGE_CODE = env.str("DPGEO_LANGUAGE", default="en-gb")
LOCALE_PATHS = [BASE_DIR / "locale"]
CATALOGUES = LOCALE_PATHS[0].glob("*/LC_MESSAGES")
LANGUAGES = [
    (code, code)
    for code in ("en-gb", *sorted(to_language(each.parent.name) for each in CATALOGUES))
]
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "frontend" / "dist"] if (BASE_DIR / "frontend/dist").exists() else []
DJANGO_VITE = {"default": {"manifest_path": BASE_DIR / "frontend" / "dist" / "manifest.json"}}

STORAGES = {
    "default": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": str(PRIVATE_DIR)},
    },
    "private": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": str(PRIVATE_DIR), "file_permissions_mode": 0o600},
    },
    "releases": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": str(RELEASES_DIR)},
    },
    "staticfiles": {"BACKEND": "dpgeo.config.static_files.ReadableStaticFilesStorage"},
}
if bucket := env.str("DPGEO_S3_BUCKET", default=""):
    # With an object store, workers can run on several machines; it needs the packages in
    # locks/s3.txt. The S3 client reads its credentials from AWS_ACCESS_KEY_ID and
    # AWS_SECRET_ACCESS_KEY. The whole bucket is private: this site itself serves what is published,
    # so a release can be withdrawn at once and no third party counts visits.
    for name in ("default", "private", "releases"):
        STORAGES[name] = {
            "BACKEND": "storages.backends.s3.S3Storage",
            "OPTIONS": {
                "bucket_name": bucket,
                "location": "releases" if name == "releases" else "private",
                "endpoint_url": env.str("DPGEO_S3_ENDPOINT", default="") or None,
                "region_name": env.str("DPGEO_S3_REGION", default="") or None,
                "default_acl": None,
                "file_overwrite": False,
                "max_memory_size": 16 << 20,  # bytes; larger files are buffered on disk
            },
        }
# Browsers may keep these files for good: Vite puts a hash of the content into their names.
WHITENOISE_IMMUTABLE_FILE_TEST = r"^.+[-.][0-9a-zA-Z_-]{8,12}\..+$"
FILE_UPLOAD_TEMP_DIR = str(INCOMING_DIR)
FILE_UPLOAD_HANDLERS = ["django.core.files.uploadhandler.TemporaryFileUploadHandler"]
DPGEO_S3_ENDPOINT = env.str("DPGEO_S3_ENDPOINT", default="")
DPGEO_S3_REGION = env.str("DPGEO_S3_REGION", default="")
DPGEO_SOURCES = env.list("DPGEO_SOURCES", default=[])
"""Folders and servers from which data may be registered, each for one organisation.

An entry is organisation/name=, followed by /folder, spark:/folder, s3://bucket or
postgresql://server. With nocopy: before the address, no copy of the rows is kept.
"""
DPGEO_SPARK_MASTER = env.str("DPGEO_SPARK_MASTER", default="local[*]")
"""Spark's master: local[2] for two threads on this machine ("*" for one per processor), or the
address of a cluster, spark://host:7077 or k8s://https://host:443.
"""
DPGEO_MAX_UPLOAD_BYTES = env.int("DPGEO_MAX_UPLOAD_BYTES", default=20 * 1024**3)
DPGEO_MIN_FREE = env.str("DPGEO_MIN_FREE", default=str(512 * 1024**2))
"""Disk space that must stay free: bytes, or per cent of each file system ("5%"); 0 means no limit.
"""

DPGEO_RAW_DAYS = env.int("DPGEO_RAW_DAYS", default=30)
"""Days after which an uploaded original file is deleted, whether it was confirmed or not."""

DPGEO_CACHE_SECONDS = env.int("DPGEO_CACHE_SECONDS", default=60)
"""Seconds for which caches may serve a published file without checking whether it was withdrawn."""

DPGEO_JOB_SLOTS = sorted(env.list("DPGEO_JOB_SLOTS", cast=int, default=[1, 5, 15, 60]))
"""Minutes after a request at which API keys may learn that its job has ended; see `jobs.slots`."""

DPGEO_COUNT_MEMORY_MIB = env.int("DPGEO_COUNT_MEMORY_MIB", default=1024)
"""Memory in MiB that a worker's count may take; with less, counting is slower but as exact."""

DPGEO_GROUND_URL = env.str("DPGEO_GROUND_URL", default="")
"""URL of another server's vector tiles, for maps outside the site's own basemaps.

That server learns the IP address of every visitor of such a map, and which place they look at.
"""
DPGEO_GROUND_ATTRIBUTION = env.str("DPGEO_GROUND_ATTRIBUTION", default="")
DPGEO_GROUND_ZOOMS = env.str("DPGEO_GROUND_ZOOMS", default="0-14")

env.CACHE_SCHEMES["filecache"] = "dpgeo.accounts.file_cache.CountsInFiles"
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    "throttle": env.cache_url(
        "DPGEO_THROTTLE_CACHE", default=f"filecache://{VAR_DIR / 'throttle'}"
    ),
}
DPGEO_METRICS_TOKEN = env.str("DPGEO_METRICS_TOKEN", default="")
"""Token for `/metrics`; if it is empty, there are no metrics."""
DPGEO_METRICS_DIR = VAR_DIR / "metrics"
"""Folder in which the web processes of this machine count requests."""
if DPGEO_METRICS_TOKEN:
    DPGEO_METRICS_DIR.mkdir(mode=0o700, exist_ok=True)
    # Set this before prometheus_client is imported, which is when it reads the variable.
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(DPGEO_METRICS_DIR)

DPGEO_ALERT_MAIL = env.list("DPGEO_ALERT_MAIL", default=[])
DPGEO_ALERT_URL = env.str("DPGEO_ALERT_URL", default="")
"""Mailboxes and webhook that get a message when jobs fail, space is short or drafts wait."""

DPGEO_WEBHOOK_PRIVATE = env.bool("DPGEO_WEBHOOK_PRIVATE", default=False)
"""Whether webhooks may use http and addresses in private networks."""

DPGEO_REQUESTS_A_MINUTE = env.int("DPGEO_REQUESTS_A_MINUTE", default=600)
"""Maximum number of API requests per minute from one IP address, not counting files; 0 means no
limit.
"""
DPGEO_KEY_REQUESTS_A_MINUTE = env.int("DPGEO_KEY_REQUESTS_A_MINUTE", default=1200)
DPGEO_PASSWORDS_AN_HOUR = env.int("DPGEO_PASSWORDS_AN_HOUR", default=20)
"""Maximum number of password resets per hour from one IP address; 0 means no limit."""
DPGEO_FAILED_SIGN_INS = env.int("DPGEO_FAILED_SIGN_INS", default=20)
"""Maximum number of failed sign-ins in 15 minutes from one IP address. For one account, the limit
is half as many. 0 means no limit.
"""
DPGEO_CONFIRMATIONS_AN_HOUR = env.int("DPGEO_CONFIRMATIONS_AN_HOUR", default=60)
"""Maximum number of uploaded files per hour that an organisation with several budgets may confirm,
since each is compared with other datasets for the same people; 0 means no limit.
"""
DPGEO_TASKS_A_MINUTE = env.int("DPGEO_TASKS_A_MINUTE", default=200_000)
"""Maximum number of tasks planned per minute for one IP address; 0 means no limit. A task counts
once for each method of dividing the reward, plus 200 times if its task region is computed. A radius
map counts as one task for each point of its lattice.
"""

CELERY_BROKER_URL = env.str("CELERY_BROKER_URL", default="filesystem://")
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_ROUTES = {
    "releases.file": {"queue": "files"},
    "webhooks.deliver": {"queue": "files"},
    "accounts.mail": {"queue": "files"},
}
"""Files that readers ask for, messages to webhooks and mail have a worker of their own, so that
they do not wait for jobs whose duration depends on private data.
"""
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
if CELERY_BROKER_URL.startswith("filesystem:"):
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(QUEUE_DIR / "messages"),
        "data_folder_out": str(QUEUE_DIR / "messages"),
        "control_folder": str(QUEUE_DIR / "control"),
        "processed_folder": str(QUEUE_DIR / "processed"),
        "store_processed": False,
        "polling_interval": 0.05,
    }
elif CELERY_BROKER_URL.startswith(("redis:", "rediss:")):
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        # Seconds after which Redis hands an unacknowledged message to a second worker. They must
        # exceed the time for which a worker may hold a job (jobs.lease.MAX_HOLD_SECONDS).
        "visibility_timeout": 13 * 3600,
        "unacked_restore_interval": 2,
        "unacked_restore_throttle": 1,
        # Give up soon if the broker does not respond, so that no request waits long for it. The
        # reaper (`manage.py reap`) sends the message again later.
        "socket_connect_timeout": 3,
        "socket_timeout": 10,
        "retry_on_timeout": True,
    }

REST_FRAMEWORK = {
    # number of proxies in front of the site that set X-Forwarded-For
    "NUM_PROXIES": env.int("DPGEO_PROXIES", default=0),
    "DEFAULT_SCHEMA_CLASS": "dpgeo.api.openapi.OperationSchema",
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
    "TAGS": [
        {"name": "releases", "description": "What is published, and its files."},
        {"name": "datasets", "description": "What releases are made from, as declared."},
        {"name": "uploads", "description": "Files of datasets, sent in pieces."},
        {"name": "jobs", "description": "Work in the background: queued, running or done."},
        {"name": "budgets", "description": "What may be spent on datasets, and what is left."},
        {"name": "campaigns", "description": "Tasks planned on published maps."},
        {"name": "mechanisms", "description": "Ways to make a release."},
        {"name": "catalogue", "description": "What other catalogues and programs rely on."},
        {"name": "schema", "description": "This description."},
    ],
}
