"""Pool processes of a Celery worker that was killed while they were starting."""

from __future__ import annotations

import os

import pytest

from dpgeo.config import celery


@pytest.mark.parametrize(("worker_lives", "code"), [(True, 7), (False, 1)])
def test_a_pool_process_whose_worker_was_killed_ends(
    monkeypatch: pytest.MonkeyPatch, worker_lives: bool, code: int
) -> None:
    monkeypatch.setattr(celery, "_worker", 2**31 - 1)
    if worker_lives:
        celery.remember_worker()
    pool_process = os.fork()
    if not pool_process:
        celery.check_that_the_worker_runs()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(pool_process, 0)[1]) == code
