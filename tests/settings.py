"""The project's settings, except that all files go to this test run's own folder."""

import atexit
import os
import shutil
import tempfile

# Parallel test processes share environment variables, but each needs a folder of its own.
if "DPGEO_VAR" not in os.environ or "PYTEST_XDIST_WORKER" in os.environ:
    os.environ["DPGEO_VAR"] = tempfile.mkdtemp(prefix="dpgeo-tests-")
    atexit.register(shutil.rmtree, os.environ["DPGEO_VAR"], ignore_errors=True)

from dpgeo.config.settings import *  # noqa: F403

if "DPGEO_MIGRATED_DATABASE" in os.environ:
    # `tests.servers` has migrated this database; test databases are copies of it.
    DATABASES["default"]["TEST"] = {"TEMPLATE": os.environ["DPGEO_MIGRATED_DATABASE"]}  # noqa: F405
DPGEO_ORIGIN = "http://testserver"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# There are no rate limits unless a test sets one.
DPGEO_REQUESTS_A_MINUTE = DPGEO_KEY_REQUESTS_A_MINUTE = 0
DPGEO_JOB_SLOTS.clear()  # noqa: F405
DPGEO_PASSWORDS_AN_HOUR = DPGEO_FAILED_SIGN_INS = 0
