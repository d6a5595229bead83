"""The first request after a start, for which the process has prepared everything it can."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.requirements import need

ROOT = Path(__file__).parents[2]

SCRIPT = """
import gc
import os
import threading
import dpgeo.config.wsgi

# The web server copies this process for its workers.
assert threading.active_count() == 1, "A thread was started, which copies would lack."
opened = [os.readlink(entry) for entry in os.scandir("/proc/self/fd") if os.path.lexists(entry)]
assert not [name for name in opened if name.startswith("socket:")], "Copies would share a socket."
from django.template.loader import get_template
from django.urls import reverse
from dpgeo.pages.basemap import basemap
from dpgeo.spatial.land import land_polygons
from dpgeo.spatial.area import StudyArea

assert land_polygons.cache_info().currsize == 1, "The land is not read before the first request."
assert gc.get_freeze_count() > 100_000, "Garbage collections search all that is loaded."
reverse("catalogue")
get_template("public/release.html")
basemap(StudyArea.from_bounds(9.4, 47.0, 9.7, 47.3))
"""


def test_a_copy_of_the_prepared_process_has_all_it_needs_and_no_database(tmp_path: Path) -> None:
    need((ROOT / "frontend" / "dist" / "land.wkb").exists(), "the built frontend: make frontend")
    subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=ROOT,
        env={**os.environ, "DPGEO_VAR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert not list(tmp_path.glob("*.sqlite3"))
