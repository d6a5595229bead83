"""A real website while another process keeps the database locked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.services.installation import Installation
from tests.services.sites import Site, browser_at, site_of
from tests.tus import announcement
from tests.web.test_outages import LOCKER

pytestmark = pytest.mark.services

FILE = announcement("trips.csv", 9)


def test_a_locked_database_is_answered_with_503_and_reading_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "var" / "dpgeo.sqlite3"
    installation = Installation(tmp_path)
    installation.environment["DATABASE_URL"] = f"sqlite:///{path}?timeout=1"
    facts = installation.ask("sign_in", dataset=installation.ask("prepare", rows=50)["dataset"])
    with site_of(installation) as port:
        owner, anybody = browser_at(port, facts), Site(port, {})
        uploads = f"/api/v1/datasets/{facts['slug']}/uploads/tus"
        assert owner.ask("POST", uploads, **FILE).status == 201
        command = [sys.executable, "-c", LOCKER, str(path)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as locker:
            assert locker.stdout is not None
            assert locker.stdout.readline() == b"held\n"
            refused = owner.ask("POST", uploads, **FILE)
            assert (refused.status, refused.headers["Retry-After"]) == (503, "30")
            assert refused.json()["type"] == "/api/docs#unavailable"
            ready = anybody.ask("GET", "/readyz")
            assert (ready.status, ready.json()["database"]) == (503, "locked")
            for page in ("/", "/api/v1/releases", "/healthz"):
                assert anybody.ask("GET", page).status == 200
            assert owner.ask("GET", "/desk/").status == 200
            locker.communicate()
        assert anybody.ask("GET", "/readyz").status == 200
        assert owner.ask("POST", uploads, **FILE).status == 201
    installation.close()
