"""One installation for all tests of the owners' pages ("the desk")."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings

from tests.browser.conftest import need_browser
from tests.migrated import DATABASE, migrated_database
from tests.servers import free_port

SET_UP = """
from django.core.management import call_command
from dpgeo.accounts.models import Membership, Organisation, Role, User
call_command("collectstatic", verbosity=0, interactive=False)
house = Organisation.objects.create(name="Invented house", slug="invented-house")
owner = User.objects.create_user("owner", password="secret-words")
Membership.objects.create(organisation=house, user=owner, role=Role.ADMINISTRATOR)
"""
"""Script that collects the static files and adds the owner's account.

One process does both, because starting a second process would take longer than the work itself.
"""


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of a new installation, run by its own supervisor.

    The tests of this folder share it, because it takes half a minute of the processor to start and
    stop. Each declares datasets of its own and signs in anew.
    """
    need_browser()
    folder = tmp_path_factory.mktemp("var")
    (folder / DATABASE).touch(mode=0o600)
    (folder / DATABASE).write_bytes(migrated_database())
    options: dict[str, Any] = {
        "cwd": settings.BASE_DIR,
        "env": os.environ
        | {"DPGEO_VAR": str(folder), "DJANGO_SETTINGS_MODULE": "dpgeo.config.settings"},
    }
    manage = [sys.executable, "manage.py"]
    set_up = ["shell", "--no-imports", "-c", SET_UP]
    subprocess.run([*manage, *set_up], check=True, timeout=300, **options)
    port = free_port()
    server = subprocess.Popen([*manage, "serve", "--port", str(port), "--workers", "1"], **options)
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for(f"{address}/accounts/login/")
        yield address
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(timeout=60)


def wait_for(address: str) -> None:
    """Wait until a page answers, for about four minutes at most. Raises TimeoutError after that."""
    for _ in range(960):
        try:
            with urllib.request.urlopen(address, timeout=5):  # noqa: S310 - our own server
                return
        except OSError:
            time.sleep(0.25)
    raise TimeoutError(address)
