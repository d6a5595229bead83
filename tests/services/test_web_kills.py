"""A website or reaper killed at any point: the interrupted work is completed later and paid for
once.
"""

from __future__ import annotations

import contextlib
import http.client
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.servers import Servers, free_port
from tests.services.installation import Installation, Process, kill, wait_until_exists
from tests.services.sites import PATIENCE_SECONDS, web_words

pytestmark = [pytest.mark.services, pytest.mark.timeout(480)]

CSRF = "c" * 32

BOUNDARY = "a-line-between-parts"

ASKED = "mechanism=uniform-grid&parameters.cells=8&epsilon=1&bound=5"
"""The request that the person confirms, as the query of its form."""

ROWS = b"who,lat,lon\n" + b"ann,50.01,10.01\n" * 8192
"""A file with enough rows to be written in several pieces."""


@pytest.fixture
def dataset(installation: Installation) -> int:
    """Make a dataset with data and its own budget; return its id."""
    return int(installation.ask("prepare", rows=500)["dataset"])


class Browser:
    """The browser of a signed-in person who has one quote to confirm."""

    def __init__(self, facts: Mapping[str, Any], port: int) -> None:
        self.port = port
        self.slug, self.receipt = facts["slug"], facts["receipt"]
        self.headers = {
            "Cookie": f"dpgeo_session={facts['session']}; dpgeo_csrf={CSRF}",
            "X-CSRFToken": CSRF,
        }

    def post(self, path: str, body: bytes, content_type: str) -> int | None:
        """Return the response's status; None if the server was killed before it responded."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        headers = {**self.headers, "Content-Type": content_type}
        try:
            connection.request("POST", path, body, headers)
            return connection.getresponse().status
        except (http.client.HTTPException, OSError):
            return None
        finally:
            connection.close()

    def upload(self) -> int | None:
        """Upload a file; return the response's status, or None if the server was killed."""
        head = (
            f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; '
            'filename="web.csv"\r\nContent-Type: text/csv\r\n\r\n'
        )
        body = head.encode() + ROWS + f"\r\n--{BOUNDARY}--\r\n".encode()
        kind = f"multipart/form-data; boundary={BOUNDARY}"
        return self.post(f"/desk/datasets/{self.slug}/upload/", body, kind)

    def spend(self) -> int | None:
        """Confirm and pay the quote; return the status, or None if the server was killed."""
        typed = {"title": "Trips", "licence": "CC BY 4.0", "token": self.receipt}
        body = urllib.parse.urlencode(typed).encode()
        kind = "application/x-www-form-urlencoded"
        return self.post(f"/desk/datasets/{self.slug}/map/publish/?{ASKED}", body, kind)


@contextmanager
def killed_while(
    installation: Installation, browser: Browser, point: str, gate: Path, send: str
) -> Iterator[None]:
    """Kill the website at the given point of a request, and check that the request fails."""
    from concurrent.futures import ThreadPoolExecutor

    with (
        ThreadPoolExecutor(1) as pool,
        website(installation, browser.port, "-m", *halting(point, gate)) as process,
    ):
        answer = pool.submit(getattr(browser, send))
        wait_until_exists(gate, process, installation.folder / "log")
        kill(process)
        assert answer.result(timeout=PATIENCE_SECONDS) is None
    gate.unlink()
    yield


def halting(point: str, gate: Path) -> tuple[str, ...]:
    return ("tests.services.halting", "web", point, str(gate))


@contextmanager
def website(installation: Installation, port: int, *words: str) -> Iterator[Process]:
    """Run the website until the block ends."""
    installation.environment["HALTING_PORT"] = str(port)
    with installation.running(*(words or web_words(port))) as process:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not answers(port):
            assert process.poll() is None, (installation.folder / "log").read_text()[-4000:]
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield process


def answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    with contextlib.closing(connection):
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
        except (http.client.HTTPException, OSError):
            return False


@pytest.mark.parametrize("point", ["receiving", "received"])
def test_an_upload_cut_off_by_a_kill_leaves_nothing_and_can_be_sent_again(
    installation: Installation, dataset: int, tmp_path: Path, point: str
) -> None:
    browser = Browser(installation.ask("sign_in", dataset=dataset, query=ASKED), free_port())
    with killed_while(installation, browser, point, tmp_path / "gate", "upload"):
        seen = installation.ask("stored", dataset=dataset)
    assert seen["uploads"] == 0
    assert seen["raw_files"] + seen["incoming"] > 0
    installation.command("reap", "--once")
    young = installation.ask("stored", dataset=dataset)
    assert young == seen
    installation.ask("age")
    installation.command("reap", "--once")
    swept = installation.ask("stored", dataset=dataset)
    assert (swept["raw_files"], swept["incoming"]) == (0, 0)
    with website(installation, browser.port):
        assert browser.upload() == 302
    assert installation.ask("stored", dataset=dataset)["uploads"] == 1


@pytest.mark.parametrize(("point", "paid"), [("debited", False), ("requested", True)])
def test_a_request_cut_off_by_a_kill_is_paid_for_once_and_drawn_once(
    installation: Installation, dataset: int, tmp_path: Path, point: str, paid: bool
) -> None:
    """Confirming a quote again after a kill gives the release of the first confirmation."""
    browser = Browser(installation.ask("sign_in", dataset=dataset, query=ASKED), free_port())
    with killed_while(installation, browser, point, tmp_path / "gate", "spend"):
        seen = installation.ask("stored", dataset=dataset)
    assert (len(seen["releases"]), seen["spent"]) == ((1, 1_000_000) if paid else (0, 0))
    with website(installation, browser.port):
        assert browser.spend() == 302
        assert browser.spend() == 302
    again = installation.ask("stored", dataset=dataset)
    assert (len(again["releases"]), again["spent"]) == (1, 1_000_000)
    installation.ask("lapse")
    with installation.reaper(), installation.worker():
        finished = installation.wait_for(again["releases"][0], job="done")
    assert (finished["state"], finished["draws_in_files"]) == ("published", 1)
    assert (finished["spent"], finished["entries"]) == (1_000_000, ["debit"])


def test_a_reaper_killed_while_it_wakes_a_job_leaves_it_to_the_next(
    installation: Installation, dataset: int, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    release = str(installation.ask("request_unheard", dataset=dataset)["release"])
    installation.ask("lapse")
    with installation.halting("reaper", "waking", gate) as reaper:
        wait_until_exists(gate, reaper, installation.folder / "log")
        kill(reaper)
    with installation.reaper(), installation.worker():
        finished = installation.wait_for(release, job="done")
    assert (finished["state"], finished["draws_in_files"]) == ("published", 1)
    assert (finished["attempts"], finished["spent"]) == (1, 1_000_000)


def test_a_reaper_killed_while_it_gives_a_job_up_refunds_it_once(
    installation: Installation, dataset: int, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    release = str(installation.ask("request_unheard", dataset=dataset)["release"])
    installation.ask("exhaust", release=release)
    with installation.halting("reaper", "giving up", gate) as reaper:
        wait_until_exists(gate, reaper, installation.folder / "log")
        kill(reaper)
    killed = installation.ask("look", release=release)
    assert (killed["job"], killed["spent"]) == ("running", 1_000_000)
    with installation.reaper(), installation.reaper():
        seen = installation.wait_for(release, job="failed")
    assert (seen["spent"], seen["entries"]) == (0, ["debit", "refund"])


def test_a_request_made_while_the_broker_is_down_is_done_when_it_is_back(
    servers: Servers, tmp_path: Path
) -> None:
    with closing(Installation(tmp_path, servers.migrated_environment())) as installation:
        dataset = int(installation.ask("prepare", rows=500)["dataset"])
        broker = installation.environment["CELERY_BROKER_URL"]
        installation.environment["CELERY_BROKER_URL"] = f"redis://127.0.0.1:{free_port()}/0"
        release = str(installation.ask("request", dataset=dataset)["release"])
        installation.environment["CELERY_BROKER_URL"] = broker
        installation.ask("lapse")
        with installation.reaper(), installation.worker():
            assert installation.wait_for(release, job="done")["state"] == "published"
