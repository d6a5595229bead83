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

if DATABASES["default"]["ENGINE"].endswith("postgresql"):  # noqa: F405
    # Copy the test databases from one that has been migrated, instead of migrating each.
    DATABASES["default"]["TEST"] = {"TEMPLATE": DATABASES["default"]["NAME"]}  # noqa: F405
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# There are no rate limits unless a test sets one.
DPGEO_REQUESTS_A_MINUTE = DPGEO_KEY_REQUESTS_A_MINUTE = 0
DPGEO_JOB_SLOTS.clear()  # noqa: F405
DPGEO_PASSWORDS_AN_HOUR = DPGEO_FAILED_SIGN_INS = 0
