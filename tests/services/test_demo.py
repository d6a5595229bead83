"""`manage.py demo` against a real worker."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.services.installation import Installation, Process

pytestmark = pytest.mark.services

LOOK = """
import django, json
django.setup()
from dpgeo.accounts.models import User
from dpgeo.budgets.models import Entry
from dpgeo.releases.models import Release
published = Release.objects.filter(state="published")
print(json.dumps({
    "releases": sorted(published.values_list("mechanism", flat=True)),
    "entries": Entry.objects.count(),
    "passwords": dict(User.objects.values_list("username", "password")),
}))
"""


def words_of(process: Process) -> str:
    """Wait for a process to end successfully, and return its output."""
    output, _ = process.communicate(timeout=180)
    assert process.returncode == 0
    return output.decode()


def test_it_publishes_through_the_worker_once_and_shows_each_password_once(tmp_path: Path) -> None:
    installation = Installation(tmp_path)
    words_of(installation.start("manage.py", "migrate", "-v", "0"))
    with installation.worker():
        output = words_of(installation.start("manage.py", "demo", "--people", "400"))
    assert "doing it in this process" not in output
    assert re.search(r"^    admin +\S{16}$", output, re.MULTILINE)
    seen = json.loads(words_of(installation.start("-c", LOOK)))
    assert seen["releases"] == [
        "contours",
        "dpcube",
        "dpcube",
        "planar-laplace",
        "private-clusters",
        "time-slices",
        "uniform-grid",
        "zones",
    ]
    assert seen["entries"] == len(seen["releases"])

    again = words_of(installation.start("manage.py", "demo", "--people", "400"))
    assert again == ""
    assert json.loads(words_of(installation.start("-c", LOOK))) == seen
