"""The same request posted by several processes at once, which creates only one job."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.services.installation import Installation, Process

pytestmark = [pytest.mark.services, pytest.mark.timeout(480)]

PROCESSES = 6
START_SECONDS = 12
"""Number of seconds after which all processes are sure to be ready to post."""


def begin(installation: Installation, action: str, **values: Any) -> Process:
    return installation.start("-m", "tests.services.posting", action, json.dumps(values))


def test_a_request_posted_many_times_at_once_is_paid_for_once(tmp_path: Path) -> None:
    installation = Installation(tmp_path)
    prepared = installation.answer(begin(installation, "prepare"))
    at = time.time() + START_SECONDS
    posts = [begin(installation, "post", **prepared, at=at) for _ in range(PROCESSES)]
    answers = [installation.answer(process) for process in posts]
    assert {answer["status"] for answer in answers} <= {200, 202}
    assert len({answer["id"] for answer in answers}) == 1
    assert len({answer["release_url"] for answer in answers}) == 1
    assert installation.answer(begin(installation, "total")) == {"releases": 1, "paid": [500_000]}
