"""A worker killed at any point while it makes a release: one charge and one draw."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.makers import FILES
from tests.services.installation import Installation, kill, wait_until_exists

AUDIT = os.environ.get("DPGEO_AUDIT") == "1"

pytestmark = [pytest.mark.services, pytest.mark.timeout(3600 if AUDIT else 480)]

POINTS = [
    # For each point at which a worker is killed: its name, whether noise may have been drawn, and
    # whether the draw is committed.
    ("leased", False, False),
    ("counting", False, False),
    ("drawing set", True, False),
    ("drawn", True, False),
    ("committed", True, True),
    ("one file stored", True, True),
    ("files stored", True, True),
    ("published", True, True),
    ("one file public", True, True),
    ("finishing", True, True),
]


QUICK_ON_SERVERS = {"leased", "drawing set", "drawn", "committed", "one file public"}
"""Points at which workers are also killed on PostgreSQL and Redis; `make audit` tries all points.
"""

CASES = [
    (kind, *facts)
    for kind in ("embedded", "servers")
    for facts in POINTS
    if kind == "embedded" or AUDIT or facts[0] in QUICK_ON_SERVERS
]

KILLS = 10 if AUDIT else 1
"""Number of workers killed at each point, before one worker finishes all of their jobs. `make
audit` kills 200 workers, half of them on PostgreSQL and Redis.
"""


@pytest.fixture
def dataset(installation: Installation) -> int:
    """Make a dataset with data and its own budget; return its id."""
    return int(installation.ask("prepare", rows=500)["dataset"])


def check_finished(seen: dict[str, Any]) -> None:
    assert (seen["job"], seen["state"]) == ("done", "published")
    assert set(seen["files"]) == FILES
    made = {name for name, sha256 in seen["files"].items() if sha256}
    assert set(seen["public"]) >= made >= {"map.bin", "statement.json", "cells.parquet"}
    assert seen["draws_in_files"] == 1


@pytest.mark.parametrize(
    ("installation", "point", "drawing", "committed"), CASES, indirect=["installation"]
)
def test_a_killed_worker_is_replaced_and_the_release_charged_and_drawn_once(
    installation: Installation, tmp_path: Path, point: str, drawing: bool, committed: bool
) -> None:
    killed = dict(kill_at(installation, point, tmp_path / f"gate-{turn}") for turn in range(KILLS))
    for left in killed.values():
        assert left["job"] == "running"
        assert (left["drawing"], bool(left["blob"])) == (drawing, committed)
    installation.ask("lapse")
    with installation.worker(), installation.reaper() as reaper:
        seen = {release: installation.wait_for(release, job="done") for release in killed}
        os.kill(reaper.pid, signal.SIGTERM)
        assert reaper.wait(timeout=120) == 0
    for release, left in killed.items():
        check_finished(seen[release])
        assert seen[release]["attempts"] == 2
        assert seen[release]["spent"] == 1_000_000
        if committed:
            assert seen[release]["blob"] == left["blob"]
            assert left["files"].items() <= seen[release]["files"].items()


def kill_at(installation: Installation, point: str, gate: Path) -> tuple[str, dict[str, Any]]:
    """Kill a worker at a point while it makes a release of a new dataset.

    Returns the release and its state after the kill.
    """
    dataset = installation.ask("prepare", rows=500)["dataset"]
    with installation.halting("worker", point, gate) as worker:
        release = str(installation.ask("request", dataset=dataset)["release"])
        wait_until_exists(gate, worker, installation.folder / "log")
        kill(worker)
    return release, installation.ask("look", release=release)


@pytest.mark.parametrize("installation", ["embedded"], indirect=True)
def test_a_draw_stored_by_a_killed_worker_is_not_used_after_an_erasure(
    installation: Installation, dataset: int, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    with installation.halting("worker", "stored", gate) as worker:
        release = str(installation.ask("request", dataset=dataset)["release"])
        wait_until_exists(gate, worker, installation.folder / "log")
        kill(worker)
    assert installation.ask("erase", dataset=dataset)["erased"]
    installation.ask("lapse")
    with installation.reaper(), installation.worker():
        seen = installation.wait_for(release, job="done", spent=2_000_000)
    check_finished(seen)
    assert seen["attempts"] == 2


def test_of_two_living_holders_one_commits(
    installation: Installation, dataset: int, tmp_path: Path
) -> None:
    """If two live workers hold the lease of a job one after the other, only one commits its draw.

    The first worker waits, with its draw in memory, until the second has published the release.
    """
    gate = tmp_path / "gate"
    log = installation.folder / "log"
    with installation.halting("worker", "drawn", gate) as first:
        release = str(installation.ask("request", dataset=dataset)["release"])
        wait_until_exists(gate, first, log)
        before = installation.ask("look", release=release)
        with (
            installation.reaper(),
            installation.worker() as second,
        ):
            # The halted worker still renews its lease now and then. So make the lease lapse again
            # and again, until the reaper happens to run before the next renewal.
            while installation.ask("look", release=release)["attempts"] == 1:
                installation.ask("lapse")
            published = installation.wait_for(release, job="done")
            kill(second)
        gate.unlink()
        os.kill(first.pid, signal.SIGTERM)
        first.wait(timeout=120)
    afterwards = installation.ask("look", release=release)
    check_finished(afterwards)
    assert afterwards == published
    assert afterwards["blobs"] == before["blobs"] + 1
    assert afterwards["entries"].count("refund") == 0
