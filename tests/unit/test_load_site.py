"""What the processes of the web server share, which are copies of one that has loaded the site."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

SCRIPT = """
import gc
import os
import sys
import threading

import django

django.setup()
from django.db import connections
from dpgeo.commands.management.commands.serve import load_site

application = load_site()
assert callable(application)
assert threading.active_count() == 1, "A thread was started, which copies would lack."
opened = [os.readlink(entry) for entry in os.scandir("/proc/self/fd") if os.path.lexists(entry)]
assert not [name for name in opened if name.startswith("socket:")], "Copies would share a socket."
assert not [name for name in opened if "sqlite" in name], "Copies would share a database."
assert gc.get_freeze_count() > 100_000, "Garbage collections copy all that is loaded."
assert "dpgeo.pages.public_views" in sys.modules, "Each copy loads the pages for itself."
"""


def test_copies_share_all_that_is_loaded_and_no_connection(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=ROOT,
        env={
            **os.environ,
            "DPGEO_VAR": str(tmp_path),
            "DJANGO_SETTINGS_MODULE": "dpgeo.config.settings",
        },
        timeout=240,
        check=True,
    )
    assert not list(tmp_path.glob("*.sqlite3"))
