"""`manage.py demo` against a real worker."""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.services.installation import Installation, Process
from tests.services.sites import Site, site_of

pytestmark = [
    pytest.mark.services,
    # Only `make audit` runs this module: `.ci/run` also runs `make run`, which publishes the demo.
    pytest.mark.skipif(os.environ.get("DPGEO_AUDIT") != "1", reason="runs in make audit"),
]

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


LINK = re.compile(r'href="(/(?:maps|embed|plan)/(?![^"]*/files/)[^"#]*|/)"')
"""Matches links to pages with maps, but not links to their files."""


def pages_with_maps(site: Site) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each page with a map to which links lead from the home
    page.
    """
    paths, reached = ["/"], {"/"}
    while paths:
        path = paths.pop()
        answer = site.ask("GET", path, Accept_Language="en")
        assert answer.status == 200, path
        page = html.unescape(answer.body.decode())
        yield path, re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", page, flags=re.DOTALL)
        release = re.match(r"/maps/([\w-]+)/$", path)
        embeds = [f"/embed/{release[1]}/", f"/embed/{release[1]}/still/"] if release else []
        for found in {*LINK.findall(page), *embeds} - reached:
            reached.add(found)
            paths.append(found)


def test_it_publishes_once_and_shows_each_new_password_before_and_after_the_maps(
    tmp_path: Path,
) -> None:
    installation = Installation(tmp_path)
    with installation.worker():
        output = words_of(installation.start("manage.py", "demo", "--people", "400"))
    assert "doing it in this process" not in output
    before, after = re.findall(r"^    admin +(\S{16})$", output, re.MULTILINE)
    assert before == after
    assert output.index(before) < output.index("Making a map")
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

    with site_of(installation) as port:
        read = list(pages_with_maps(Site(port, {})))
    assert len({path.split("/")[1] for path, _ in read}) == 4, "catalogue, maps, embeds and planner"
    for path, text in read:
        assert "invented people" in text.lower(), path
        assert "OpenStreetMap" in text, path

    again = words_of(installation.start("manage.py", "demo", "--people", "400"))
    assert "Sign in as admin or steward" in again
    assert len(again.splitlines()) == 1
    assert json.loads(words_of(installation.start("-c", LOOK))) == seen
