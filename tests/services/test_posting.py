"""The same request posted by several processes at once, which creates only one job."""

from __future__ import annotations

import time

import pytest

from tests.services.installation import Installation

pytestmark = [pytest.mark.services, pytest.mark.timeout(480)]

PROCESSES = 6
START_SECONDS = 2
"""Seconds from the start of the processes until all of them are sure to be ready to post."""


@pytest.mark.parametrize("installation", ["embedded"], indirect=True)
def test_a_request_posted_many_times_at_once_is_paid_for_once(installation: Installation) -> None:
    prepared = installation.ask("prepare_program")
    assert installation.ask("warm_up")["status"] == 200
    at = time.time() + START_SECONDS
    posts = [installation.begin("post", **prepared, at=at) for _ in range(PROCESSES)]
    answers = [installation.answer(process) for process in posts]
    assert {answer["status"] for answer in answers} <= {200, 202}
    assert len({answer["id"] for answer in answers}) == 1
    assert len({answer["release_url"] for answer in answers}) == 1
    assert installation.ask("paid") == {"releases": 1, "paid": [500_000]}
