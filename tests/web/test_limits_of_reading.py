"""Uploads whose reading is ended by a limit of the sandbox: a clear error, and nothing is lost."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pytest

from dpgeo.datasets.ingest_job import upload_ingest
from dpgeo.datasets.models import UploadState
from dpgeo.datasets.storage import private_storage
from dpgeo.datasets.uploads import upload_confirm
from dpgeo.ingest.schema import Columns
from dpgeo.jobs.models import JobState
from tests.makers import CSV, make_dataset, make_received

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

PROGRAM = """
from dpgeo.ingest import sandbox_worker as worker
real = worker.load
def load(task):
    from dpgeo.ingest import sandbox_tasks as tasks
    {change}
    return {task}
def spin(request, say):
    while True:
        pass
def take(request, say):
    return len(bytes(1 << 40))
worker.load = load
worker.main()
"""


@pytest.mark.parametrize(
    ("change", "task", "words"),
    [
        ("tasks.PROCESSOR_SECONDS[task] = 2; real(task)", "spin", "takes far too long"),
        ("tasks.FILE_BYTES[task] = 10", "real(task)", "temporary file of more than"),
        ("real(task)", "take", "more than 512 MB of memory"),
    ],
)
def test_a_reading_that_a_limit_ends_says_so_and_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, task: str, words: str
) -> None:
    packed = gzip.compress(CSV)
    upload = make_received(make_dataset(), packed, "trips.csv.gz")
    columns = Columns(longitude="lon", latitude="lat", person="who")
    (tmp_path / "limited.py").write_text(PROGRAM.format(change=change, task=task))
    script = tmp_path / "python"
    script.write_text(
        f"#!/bin/sh\nexec '{sys.executable}' '{tmp_path / 'limited.py'}' \"$4\" \"$5\"\n"
    )
    script.chmod(0o755)
    upload_confirm(upload=upload, columns=columns)
    with monkeypatch.context() as limited:
        limited.setattr(sys, "executable", str(script))
        upload_ingest(upload_id=upload.pk)
    upload.refresh_from_db()
    assert upload.job is not None
    assert upload.job.state == JobState.FAILED
    assert words in str(upload.job.failure)
    with private_storage().open(upload.raw_name) as file:
        assert file.read() == packed
    upload_confirm(upload=upload, columns=columns)
    assert upload_ingest(upload_id=upload.pk)
    upload.refresh_from_db()
    assert upload.state == UploadState.READY
