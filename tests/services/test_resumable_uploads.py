"""Many processes announce files at once, and not one more than may be open."""

from __future__ import annotations

import time

import pytest

from dpgeo.datasets.resumable_uploads import MAX_OPEN
from tests.services.installation import Installation

pytestmark = [pytest.mark.services, pytest.mark.timeout(480)]

PROCESSES = 6
START_SECONDS = 8
"""Enough for most processes to be ready before they announce."""


def test_files_announced_by_many_at_once_are_no_more_than_may_be_open(
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
