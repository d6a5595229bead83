"""Points and counts in shards by several workers; finished shards survive a killed worker."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest

from dpgeo.core.levels import make_level
from tests.services.installation import Installation, kill, wait_until_exists

pytestmark = [pytest.mark.services, pytest.mark.timeout(480)]

COST = 2 * make_level("ln 4", 200).pico
"""What the ledger is charged for two reports per person, in pico-epsilon per metre."""


@pytest.fixture
def dataset(installation: Installation) -> int:
    """Make a dataset with 500 rows from twenty people, to be perturbed in five shards."""
    installation.environment["DPGEO_ROWS_PER_SHARD"] = "100"
    return int(installation.ask("prepare_points", rows=500)["dataset"])


@pytest.mark.parametrize(
    ("point", "written", "stored"), [("part drawn", 0, 0), ("part written", 1, 1), ("drawn", 5, 5)]
)
def test_only_the_unwritten_shard_of_a_killed_worker_is_drawn_again(
    installation: Installation, dataset: int, tmp_path: Path, point: str, written: int, stored: int
) -> None:
    gate, log = tmp_path / "gate", installation.folder / "log"
    with installation.halting("worker", point, gate) as worker:
        release = str(installation.ask("request_points", dataset=dataset)["release"])
        wait_until_exists(gate, worker, log)
        kill(worker)
    killed = installation.ask("look_at_points", release=release)
    assert (killed["parts"], len(killed["written"]), killed["files"]) == (5, written, stored)
    assert installation.ask("look", release=release)["drawing"]
    installation.ask("lapse")
    with installation.reaper(), installation.worker(), installation.worker():
        seen = installation.wait_for(release, job="done")
    assert (seen["state"], seen["attempts"], seen["draws_in_files"]) == ("published", 2, 1)
    done = installation.ask("look_at_points", release=release)
    assert (done["parts"], done["spent"], len(done["released"])) == (0, COST, 40)
    for longitudes in killed["written"].values():
        assert Counter(longitudes) <= Counter(done["released"])


PEOPLE, PLACES, EXACT_COST = 40, 3, 100_000_000


@pytest.mark.parametrize("installation", ["embedded"], indirect=True)
def test_two_workers_count_a_folder_though_one_is_killed_in_a_shard(
    installation: Installation, tmp_path: Path
) -> None:
    """Two workers count the shards of a release; the one that runs its job is killed.

    The killed worker had a counted shard in memory, and the other worker had counted all the rest.
    That other one takes over the job, counts the lost shard, adds up all shards and draws noise
    once.
    """
    folder = tmp_path / "lake"
    folder.mkdir()
    installation.environment |= {
        "DPGEO_ROWS_PER_SHARD": "30",
        "DPGEO_SOURCES": f"office/lake={folder}",
    }
    dataset = installation.ask("prepare_folder", people=PEOPLE, places=PLACES)["dataset"]
    gate, log = tmp_path / "gate", installation.folder / "log"
    with installation.halting("worker", "part drawn", gate) as first:
        release = str(installation.ask("request_exact", dataset=dataset)["release"])
        wait_until_exists(gate, first, log)
        with installation.worker():
            deadline = time.monotonic() + 120
            seen = installation.ask("look_at_counts", release=release)
            while len(seen["counted"]) < 3 and time.monotonic() < deadline:
                time.sleep(0.1)
                seen = installation.ask("look_at_counts", release=release)
            kill(first)
            assert (seen["shards"], len(seen["counted"]), seen["counts"]) == (4, 3, [])
            assert not installation.ask("look", release=release)["drawing"]
            installation.ask("lapse")
            with installation.reaper():
                done = installation.wait_for(release, job="done")
    assert (done["attempts"], done["draws_in_files"]) == (2, 1)
    counted = installation.ask("look_at_counts", release=release)
    assert counted["counts"] == [PEOPLE] * PLACES
    assert (counted["spent"], counted["entries"]) == (EXACT_COST, 1)
    assert (counted["shards"], counted["files"]) == (0, 0)
