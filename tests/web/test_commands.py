"""Commands that publish a map without a running server, and their error messages."""

from __future__ import annotations

import io
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from dpgeo.accounts.models import Organisation, Role
from dpgeo.commands import console
from dpgeo.commands.management.commands import serve
from dpgeo.datasets.models import Dataset
from dpgeo.jobs.models import Job
from dpgeo.releases.models import Release
from dpgeo.releases.states import ReleaseState
from tests.makers import CSV, make_dataset, make_ready, make_user
from tests.servers import free_port

pytestmark = pytest.mark.django_db

DECLARATION = [
    *("--create", "--title", "City trips", "--organisation", "Transport office"),
    *("--area=10,50,10.1,50.1", "--budget", "4", "--time-zone", "Europe/Berlin"),
]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the waiting time for a worker to zero, because none runs in these tests."""
    monkeypatch.setattr(console, "PATIENCE_SECONDS", 0.0)


@pytest.fixture
def trips(tmp_path: Path) -> Path:
    path = tmp_path / "trips.csv"
    path.write_bytes(CSV)
    return path


def command(*arguments: object) -> str:
    output = io.StringIO()
    call_command(*map(str, arguments), stdout=output)
    return output.getvalue()


def refusal(*arguments: object) -> str:
    with pytest.raises(CommandError) as refused:
        command(*arguments)
    return str(refused.value)


def test_a_file_becomes_a_dataset_and_a_published_map(trips: Path) -> None:
    output = command("ingest", trips, "--dataset", "city", "--person", "who", *DECLARATION)
    assert "doing it in this process" in output
    assert "3 of 4 rows accepted" in output
    assert Organisation.objects.get().name == "Transport office"
    output = command(
        *("release", "city", "--mechanism", "uniform-grid", "--epsilon", "1", "--bound", "2"),
        *("--param", "cells=16", "--title", "A week", "--publish", "--wait"),
    )
    release = Release.objects.get()
    assert release.state == ReleaseState.PUBLISHED
    assert (release.request.parameters["cells"], release.bound, release.title) == (16, 2, "A week")
    assert "left before 4, after 3" in output
    assert f"Published: /maps/{release.pk}/" in output
    assert release.files.get(name="map.bin").sha256 in output


def test_a_publication_that_waits_for_its_public_time_says_so(
    tmp_path: Path, settings: Any
) -> None:
    settings.DPGEO_JOB_SLOTS = [15]
    dataset = make_dataset()
    make_ready(dataset, tmp_path)
    output = command(
        *("release", dataset.slug, "--mechanism", "uniform-grid", "--epsilon", "1"),
        *("--publish", "--wait"),
    )
    release = Release.objects.get()
    assert release.state == ReleaseState.DRAFT
    due = release.job.submitted_at + timedelta(minutes=15)
    assert f"publishes it from {due:%Y-%m-%d %H:%M:%S} UTC on, at /maps/{release.pk}/" in output
    assert "Draft" not in output


def test_a_time_is_not_guessed(tmp_path: Path) -> None:
    path = tmp_path / "trips.csv"
    path.write_bytes(b"user,lat,lon,time\nann,50.01,10.01,teatime\n")
    assert "1 of 1 rows accepted" in command("ingest", path, "--dataset", "city", *DECLARATION)
    assert Dataset.objects.get().columns["time"] == ""


def test_a_dry_run_prices_and_spends_nothing(tmp_path: Path) -> None:
    dataset = make_dataset()
    make_ready(dataset, tmp_path)
    output = command(
        *("release", dataset.slug, "--mechanism", "uniform-grid", "--epsilon", "0.5"),
        *("--bound", "10", "--dry-run"),
    )
    assert "Cost: epsilon 0.5; left before 4, after 3.5 (7 more like this)" in output
    assert "plus or minus" in output
    assert not Job.objects.exists()


def test_without_waiting_the_job_is_left_to_the_workers(tmp_path: Path) -> None:
    dataset = make_dataset()
    make_ready(dataset, tmp_path)
    command("release", dataset.slug, "--mechanism", "uniform-grid", "--epsilon", "1")
    release = Release.objects.get()
    assert (release.job.state, release.state) == ("queued", "draft")


def test_a_steward_named_on_the_command_line_gets_a_draft(tmp_path: Path) -> None:
    dataset = make_dataset()
    make_ready(dataset, tmp_path)
    person = make_user(dataset.organisation, Role.STEWARD)
    output = command(
        *("release", dataset.slug, "--mechanism", "uniform-grid", "--epsilon", "1"),
        *("--publish", "--wait", "--user", person.username),
    )
    assert "needs the approver's role" in output
    assert Release.objects.get().state == ReleaseState.DRAFT


def test_a_missing_dataset_is_created_only_on_request(trips: Path) -> None:
    assert "--create" in refusal("ingest", trips, "--dataset", "city")


def test_a_file_that_is_not_a_table_is_refused_before_anything_is_stored(tmp_path: Path) -> None:
    path = tmp_path / "trips.parquet"
    path.write_bytes(b"PAR1 and then nothing")
    assert refusal("ingest", path, "--dataset", "city", *DECLARATION).startswith("FILE: ")
    assert not Dataset.objects.exists()


def test_nothing_is_served_from_a_database_without_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "database_state", lambda: "not migrated")
    with pytest.raises(CommandError, match=r"manage.py migrate"):
        call_command("serve", port=free_port())
