"""The limit on open uploads, tested by many processes that register files at the same time."""

from __future__ import annotations

import time

import pytest

from dpgeo.datasets.resumable_uploads import MAX_OPEN
from tests.services.installation import Installation

pytestmark = [pytest.mark.services, pytest.mark.timeout(480)]

PROCESSES = 6
START_SECONDS = 8
"""Seconds from the start of the processes until most of them are ready to register files."""


def test_files_announced_at_once_stay_within_the_limit_of_open_uploads(
    installation: Installation,
) -> None:
    dataset = installation.ask("prepare", rows=1)["dataset"]
    installation.ask("announce", dataset=dataset, count=0, at=0)
    at = time.time() + START_SECONDS
    processes = [
        installation.begin("announce", dataset=dataset, count=MAX_OPEN // 2, at=at)
        for _ in range(PROCESSES)
    ]
    answers = [installation.answer(process) for process in processes]
    assert sum(answer["taken"] for answer in answers) == MAX_OPEN
    assert max(answer["open"] for answer in answers) == MAX_OPEN
