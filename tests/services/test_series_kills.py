"""Workers killed at every step of a series: each period is drawn once, and nobody counts twice."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.services.installation import Installation, kill, wait_until_exists
from tests.services.test_kills import AUDIT

pytestmark = [pytest.mark.services, pytest.mark.timeout(480)]

POINTS = [
    "leased",
    "counting",
    "state counted",
    "state stored",
    "drawing set",
    "drawn",
    "stored",
    "series moved",
    "committed",
    "one file stored",
]
"""Points of `tests.services.halting` at which a worker is killed while it makes a period's map."""

QUICK = {
    "embedded": {"state stored", "stored", "series moved", "committed"},
    "servers": {"state stored", "series moved"},
}
"""The points tried on each kind of installation; `make audit` tries all POINTS on both kinds."""

CASES = [
    (kind, point) for kind, chosen in QUICK.items() for point in POINTS if AUDIT or point in chosen
]

PEOPLE, WEEKS = 10, 4


@pytest.mark.parametrize(("installation", "point"), CASES, indirect=["installation"])
def test_a_period_is_drawn_once_whenever_its_worker_is_killed(
    installation: Installation, tmp_path: Path, point: str
) -> None:
    """After the kill, two workers and a reaper continue the series.

    Each person counts in at most 2 cells of a map and in 5 of the whole series.
    """
    series = str(installation.ask("prepare_series", people=PEOPLE, weeks=WEEKS)["series"])
    gate = tmp_path / "gate"
    with installation.halting("worker", point, gate) as worker:
        assert installation.ask("request_due")["requested"] == 1
        wait_until_exists(gate, worker, installation.folder / "log")
        kill(worker)
    left = installation.ask("look_at_series", series=series)
    assert (left["drawn"], left["running"]) == (int(point in {"committed", "one file stored"}), 1)
    installation.ask("lapse")
    with installation.worker(), installation.worker(), installation.reaper():
        seen = wait_for(installation, series)
    assert seen["counts"] == [20, 20, 10, 0]
    assert seen["used"] == [5] * PEOPLE
    assert seen["draws"] == [1] * WEEKS
    assert (seen["entries"], seen["spent"]) == (1, 400_000_000)
    assert seen["ended"] == ""


def wait_for(installation: Installation, series: str) -> dict[str, Any]:
    """Wait until all periods are drawn, and their jobs have ended; return the series' state."""
    deadline = time.monotonic() + 180
    while True:
        seen = installation.ask("look_at_series", series=series)
        if seen["drawn"] == WEEKS and not seen["running"]:
            return seen
        log = (installation.folder / "log").read_text()[-4000:]
        assert time.monotonic() < deadline, f"{seen}\n{log}"
        time.sleep(0.2)
