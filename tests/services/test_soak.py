"""Mixed load for `DPGEO_SOAK_MINUTES` minutes: no errors, and memory that does not grow."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.servers import free_port
from tests.services.installation import Installation
from tests.services.sites import Answer, Site, answers, browser_at, program_at

MINUTES = float(os.environ.get("DPGEO_SOAK_MINUTES", "60"))

WARM_UP = 1 / 6
"""Fraction of the total time after which memory is first measured."""

MAX_GROWTH = 1.25
MAX_GROWTH_BYTES = 64 * 1024**2

pytestmark = [
    pytest.mark.services,
    pytest.mark.skipif(os.environ.get("DPGEO_AUDIT") != "1", reason="runs in make audit"),
    pytest.mark.timeout(60 * MINUTES + 900),
]


@dataclass
class Load:
    """Clients of a site that send requests until the time `ends`."""

    port: int
    facts: dict[str, Any]
    release: str
    ends: float
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)

    def going(self) -> bool:
        """Return whether there is time left."""
        return time.monotonic() < self.ends

    def note(self, who: str, answer: Answer) -> Answer:
        """Count a response and return it; a server error fails the test."""
        self.statuses[who, answer.status] += 1
        assert answer.status < 500, (who, answer.status, answer.body[:2000])
        return answer

    def read(self) -> None:
        """Read pages, lists and files as visitors do."""
        site = Site(self.port, {})
        page, files = f"/maps/{self.release}/", f"/api/v1/releases/{self.release}/files"
        names = [
            each["name"] for each in site.must("GET", f"/api/v1/releases/{self.release}")["files"]
        ]
        addresses = [
            *("/", "/de/", page, f"/de{page}", f"{page}privacy/", "/plan/", "/about/words/"),
            *("/api/v1/releases", "/api/v1/datasets", "/api/v1/catalogue", "/ogc/collections"),
            *(f"{files}/{name}" for name in names),
        ]
        while self.going():
            for address in addresses:
                self.note("reader", site.ask("GET", address))
                time.sleep(0.05)

    def query(self) -> None:
        """Request totals of random areas, as analysts do."""
        site, random = Site(self.port, {}), Random(1)  # noqa: S311 - no secret
        west, south, east, north = site.must("GET", f"/api/v1/releases/{self.release}")["bbox"]
        while self.going():
            x, y = random.uniform(west, east), random.uniform(south, north)
            box = f"{x},{y},{x + (east - west) / 7},{y + (north - south) / 7}"
            address = f"/api/v1/releases/{self.release}/query?bbox={box}"
            self.note("analyst", site.ask("GET", address))
            time.sleep(0.1)

    def desk(self) -> None:
        """Repeatedly open the owners' pages."""
        site = browser_at(self.port, self.facts)
        while self.going():
            for address in ("/desk/", "/desk/ledger/", "/desk/campaigns/", "/de/desk/"):
                self.note("owner", site.ask("GET", address))
                time.sleep(0.2)

    def publish(self) -> None:
        """Repeatedly upload a file, publish a map of it and withdraw that map."""
        from tests.web.api import COLUMNS, CONTENT, DECLARATION, REQUEST

        site = program_at(self.port, self.facts)
        dataset_made = site.must("POST", "/api/v1/datasets", {**DECLARATION, "budget": "1000"})
        number = 0
        while self.going():
            number += 1
            upload = site.upload(dataset_made["slug"], "trips.csv", CONTENT)
            confirmed = site.must("POST", f"{upload}/confirm", {"columns": COLUMNS})
            site.until_done(confirmed["job_url"])
            body = {
                "dataset": dataset_made["slug"],
                "title": f"Map {number}",
                **REQUEST,
                "epsilon": "0.1",
            }
            body |= {"publish_when_done": True}
            accepted = site.must("POST", "/api/v1/releases", body, Idempotency_Key=f"map-{number}")
            site.until_done(accepted["url"])
            drawn = site.must("GET", accepted["release_url"])
            self.statuses["publisher", 200] += 1
            assert drawn["state"] == "published", drawn
            site.must("POST", f"{drawn['url']}/withdraw")


def tree(number: int) -> Iterator[int]:
    """Yield the ids of a process and of all its descendants."""
    yield number
    for task in Path(f"/proc/{number}/task").glob("*"):
        try:
            children = (task / "children").read_text().split()
        except OSError:
            continue
        for child in children:
            yield from tree(int(child))


def memory(number: int) -> dict[str, int]:
    """Return the resident memory, in bytes, of each program's largest descendant process.

    Only the largest process counts: a worker process that has not made a release yet is small, so
    sums would depend on which worker processes happened to get jobs.
    """
    found: dict[str, int] = {}
    for each in tree(number):
        try:
            words = Path(f"/proc/{each}/cmdline").read_text().split("\0")
            status = Path(f"/proc/{each}/status").read_text()
        except OSError:
            continue
        what = next((word for word in ("serve", "celery", "reap") if word in words), "other")
        sizes = [line for line in status.splitlines() if line.startswith("VmRSS")]
        if sizes and "sandbox_worker" not in " ".join(words):
            found[what] = max(found.get(what, 0), int(sizes[0].split()[1]) * 1024)
    return found


def test_memory_stays_as_it_is_under_mixed_load(tmp_path: Path) -> None:
    installation = Installation(tmp_path)
    installation.environment |= {
        "DPGEO_REQUESTS_A_MINUTE": "0",
        "DPGEO_KEY_REQUESTS_A_MINUTE": "0",
        "DPGEO_CONFIRMATIONS_AN_HOUR": "1000000",
    }
    facts = installation.ask("house", datasets=0)
    release = installation.ask("layered")["release"]
    port = free_port()
    with installation.running("manage.py", "serve", "--port", str(port)) as server:
        while not answers(port):
            time.sleep(0.2)
        began = time.monotonic()
        load = Load(port, facts, release, began + 60 * MINUTES)
        jobs: list[Callable[[], None]] = [load.read, load.read, load.query, load.desk, load.publish]
        early: dict[str, int] = {}
        with ThreadPoolExecutor(len(jobs)) as clients:
            running = [clients.submit(job) for job in jobs]
            while load.going() and not any(each.done() for each in running):
                time.sleep(1)
                if not early and time.monotonic() - began > 60 * MINUTES * WARM_UP:
                    early = memory(server.pid)
            late = memory(server.pid)
            load.ends = 0
            for each in running:
                each.result()
    megabytes = {kind: (early.get(kind, 0) >> 20, size >> 20) for kind, size in late.items()}
    sys.stderr.write(f"{MINUTES:g} min, MiB early and late: {megabytes}\n{dict(load.statuses)}\n")
    for kind, before in early.items():
        most = max(MAX_GROWTH * before, before + MAX_GROWTH_BYTES)
        assert late[kind] < most, kind
