"""A worker killed at any point while it makes a release: one charge and one draw."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.makers import FILES
from tests.services.installation import Installation, kill, wait_until_exists

pytestmark = [pytest.mark.services, pytest.mark.timeout(480)]

POINTS = [
    # For each point: its name, whether noise may have been drawn, and whether the draw is
    # committed.
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

AUDIT = os.environ.get("DPGEO_AUDIT") == "1"

CASES = [
    (kind, *facts)
    for kind in ("embedded", "servers")
    for facts in POINTS
    if kind == "embedded" or AUDIT or facts[0] in QUICK_ON_SERVERS
]

TURNS = range(10 if AUDIT else 1)
"""Repetitions of each case. `make audit` kills 200 workers, half of them on PostgreSQL and Redis.
"""


@pytest.fixture
def dataset(installation: Installation) -> int:
    """Make a dataset with data and its own budget; return its id."""
    return int(installation.ask("prepare", rows=500)["dataset"])


def check_finished(seen: dict[str, Any]) -> None:
    assert (seen["job"], seen["state"]) == ("done", "published")
    assert set(seen["files"]) == FILES
    assert set(seen["public"]) >= FILES
    assert seen["draws_in_files"] == 1


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize(
    ("installation", "point", "drawing", "committed"), CASES, indirect=["installation"]
)
def test_a_killed_worker_is_replaced_and_the_release_charged_and_drawn_once(
    installation: Installation,
    dataset: int,
    tmp_path: Path,
    point: str,
    drawing: bool,
    committed: bool,
    turn: int,
) -> None:
    gate = tmp_path / "gate"
    log = installation.folder / "log"
    with installation.halting("worker", point, gate) as worker:
        release = str(installation.ask("request", dataset=dataset)["release"])
        wait_until_exists(gate, worker, log)
        kill(worker)
    killed = installation.ask("look", release=release)
    assert killed["job"] == "running"
    assert (killed["drawing"], bool(killed["blob"])) == (drawing, committed)
    installation.ask("lapse")
    with (
        installation.reaper() as reaper,
        installation.worker(),
    ):
        seen = installation.wait_for(release, job="done")
        os.kill(reaper.pid, signal.SIGTERM)
        assert reaper.wait(timeout=20) == 0
    check_finished(seen)
    assert seen["attempts"] == 2
    assert seen["spent"] == 1_000_000
    if committed:
        assert seen["blob"] == killed["blob"]
        assert killed["files"].items() <= seen["files"].items()


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
    """If two live workers hold the same release, only one of them commits its draw.

    The first one halts with its draw in memory until the second has published a draw.
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
            # The first worker keeps renewing its lease, so the reaper must run after the lease
            # expires and before it is renewed.
            while installation.ask("look", release=release)["attempts"] == 1:
                installation.ask("lapse")
            published = installation.wait_for(release, job="done")
            kill(second)
        gate.unlink()
        os.kill(first.pid, signal.SIGTERM)
        first.wait(timeout=60)
    afterwards = installation.ask("look", release=release)
    check_finished(afterwards)
    assert afterwards == published
    assert afterwards["blobs"] == before["blobs"] + 1
    assert afterwards["entries"].count("refund") == 0
