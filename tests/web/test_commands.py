"""Commands that publish a map without a running server, and their error messages."""

from __future__ import annotations

import csv
import io
import os
import shlex
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from dpgeo.accounts.models import Organisation, Role
from dpgeo.budgets.models import Ledger
from dpgeo.commands import console
from dpgeo.commands.management.commands import serve
from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.storage import public_storage
from dpgeo.jobs.models import Job
from dpgeo.releases.models import Release
from dpgeo.releases.states import ReleaseState
from tests.makers import CSV, ask_for, make_dataset, make_ready, make_user
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


def test_a_command_before_migrate_says_what_to_do(tmp_path: Path) -> None:
    here = Path(__file__).parents[2]
    for words in (("ledger", "city"), ("createsuperuser", "--noinput", "--username=a")):
        ended = subprocess.run(
            [sys.executable, "manage.py", *words, "--skip-checks"],
            cwd=here,
            env={
                **os.environ,
                "DPGEO_VAR": str(tmp_path),
                "DATABASE_URL": f"sqlite:///{tmp_path}/a.sqlite3",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 1
        assert "Run the command `migrate` first." in ended.stderr
        assert "Traceback" not in ended.stderr


def test_a_second_file_has_the_columns_of_the_first(trips: Path) -> None:
    command("ingest", trips, "--dataset", "city", "--person", "who", *DECLARATION)
    command("ingest", trips, "--dataset", "city")
    assert Upload.objects.filter(state=UploadState.READY).count() == 2


def test_private_categories_and_measures_are_declared_and_divide_a_map(tmp_path: Path) -> None:
    path = tmp_path / "trips.csv"
    speeds = {"walk": 5, "bike": 18, "hovercraft": 30}
    rows = [
        # In no mode is the share of "yes" exactly 0 or 1: because of the noise, one in 40 means at
        # these limits would be withheld.
        f"p{n}-{mode},50.05,10.05,{mode},{speed},{('no', 'yes')[(mode == 'bike') ^ (n % 10 == 0)]}"
        for mode, speed in speeds.items()
        for n in range(3000)
    ]
    path.write_text("\n".join(["who,lat,lon,mode,speed,by_bike", *rows, ""]))
    output = command(
        *("ingest", path, "--dataset", "city", "--person", "who", *DECLARATION),
        *("--category", "mode = Mode of transport: walk, bike, car"),
        *("--measure", "speed: 0 to 40 km/h", "--measure", "by_bike: yes or no"),
    )
    assert "9,000 of 9,000 rows accepted" in output
    dataset = Dataset.objects.get()
    assert dataset.frozen_at is not None
    (mode,) = dataset.categorised
    assert (mode.column, mode.title, mode.keys) == (
        *("mode", "Mode of transport"),
        ("walk", "bike", "car", "other"),
    )
    assert [each.column for each in dataset.measured] == ["speed", "by_bike"]
    for measure in ("speed", "by_bike"):
        command(
            *("release", "city", "--mechanism=averages", "--epsilon=1", "--publish", "--wait"),
            *("--param=cells=1", f"--param=measure={measure}", "--param=category=mode"),
        )
    wanted: dict[str, list[float | None]] = {
        "speed": [5, 18, None, 30],
        "by_bike": [10, 90, None, 10],  # percentage of rows with "yes" in each of four regions
    }
    keys = ("1-walk", "2-bike", "3-car", "4-other")
    for release in Release.objects.all():
        assert not release.files.filter(name__contains="hovercraft").exists()
        for key, mean in zip(keys, wanted[release.request.parameters["measure"]], strict=True):
            file_name = f"averages-{key}.csv"
            name = ask_for(release, file_name).files.get(name=file_name).stored_name
            with public_storage().open(name) as file:
                (row,) = csv.DictReader(file.read().decode().splitlines())
            # Noise may give a mean to an empty region, but must not withhold the mean of a large
            # one.
            if mean is None:
                assert float(row["records"]) < 100
            else:
                assert row["told"] == "true"
                assert float(row["mean"]) == pytest.approx(mean, abs=0.5)


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


@pytest.mark.parametrize(
    ("change", "option"),
    [
        (["--epsilon", "0"], "--epsilon"),
        (["--epsilon", "0.1234567"], "--epsilon"),
        (["--epsilon", "40"], "--epsilon"),
        (["--bound", "0"], "--bound"),
        (["--mechanism", "magic"], "--mechanism"),
        (["--counting", "cars"], "--counting"),
        (["--param", "cell=3"], "--param cell"),
        (["--param", "cells=1000000000"], "--param cells"),
        (["--param", "cells"], "--param"),
        (["--param", "cells=3", "--param", "cells=4"], "--param"),
        (["--user", "nobody"], "--user"),
    ],
)
def test_an_invalid_release_names_the_option(
    tmp_path: Path, change: list[str], option: str
) -> None:
    dataset = make_dataset()
    make_ready(dataset, tmp_path)
    message = refusal(
        *("release", dataset.slug, "--mechanism", "uniform-grid", "--epsilon", "1", *change)
    )
    assert message.startswith(f"{option}: ")
    assert not Job.objects.exists()


def test_a_release_of_a_missing_dataset_is_refused() -> None:
    message = refusal("release", "nowhere", "--mechanism", "uniform-grid", "--epsilon", "1")
    assert message.startswith("SLUG: There is no dataset 'nowhere'")


@pytest.mark.parametrize(
    ("change", "option"),
    [
        (["--area=10,50,10.1"], "--area"),
        (["--area=10.1,50,10,50.1"], "--area"),
        (["--budget", "0"], "--budget"),
        (["--budget", ""], "--budget"),
        (["--title", ""], "--title"),
        (["--unit", "household"], "--unit"),
        (["--time-zone", "Mars"], "--time-zone"),
        (["--person", "nobody"], "--person"),
        (["--latitude", "nothing"], "--latitude"),
        (["--dataset", "not a slug"], "--dataset"),
        (["--user", "nobody"], "--user"),
        (["--measure", "speed"], "--measure"),
        (["--measure", "speed: 9 to 9 km/h"], "--measure"),
        (["--measure", "zip: 0 to 99999"], "--measure"),
        (["--measure", "who: 0 to 9"], "--measure"),
        (["--category", "mode"], "--category"),
        (["--category", "mode: walk, walk"], "--category"),
        (["--category", "userid: 1, 2"], "--category"),
        (["--category", "who: ann, bob"], "--category"),
    ],
)
def test_an_invalid_ingest_names_the_option_and_stores_nothing(
    trips: Path, change: list[str], option: str
) -> None:
    message = refusal(
        *("ingest", trips, "--dataset", "city", "--person", "who", *DECLARATION, *change)
    )
    assert message.startswith(f"{option}: ")
    for model in (Dataset, Ledger, Upload, Job):
        assert not model.objects.exists()


def test_a_missing_dataset_is_created_only_on_request(trips: Path) -> None:
    assert "--create" in refusal("ingest", trips, "--dataset", "city")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    message = refusal("ingest", tmp_path / "none.csv", "--dataset", "city")
    assert message.startswith("FILE: There is no file")


def test_a_file_that_is_not_a_table_is_refused_before_anything_is_stored(tmp_path: Path) -> None:
    path = tmp_path / "trips.parquet"
    path.write_bytes(b"PAR1 and then nothing")
    assert refusal("ingest", path, "--dataset", "city", *DECLARATION).startswith("FILE: ")
    assert not Dataset.objects.exists()


def test_a_job_that_always_fails_ends_the_wait(
    trips: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(*_: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr("dpgeo.datasets.ingest_job.ingest", break_down)
    message = refusal("ingest", trips, "--dataset", "city", "--person", "who", *DECLARATION)
    assert "was not ingested" in message
    assert "stopped 5 times" in message


@pytest.mark.parametrize(("unit", "names"), [("person", ["--person", "who"]), ("record", [])])
def test_the_next_step_that_ingest_suggests_works(trips: Path, unit: str, names: list[str]) -> None:
    declaration = [*DECLARATION, "--unit", unit]
    output = command("ingest", trips, "--dataset", "city", *names, *declaration)
    step = output.strip().splitlines()[-1].removeprefix("Next: python manage.py ")
    assert "Dry run: nothing was spent." in command(*shlex.split(step))


def test_without_its_packages_manage_py_names_the_right_python() -> None:
    script = Path(__file__).resolve().parents[2] / "manage.py"
    ended = subprocess.run(
        [sys.executable, "-I", "-S", str(script), "help"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1
    assert ".venv/bin/python manage.py" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_nothing_is_served_from_a_database_without_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "database_state", lambda: "not migrated")
    with pytest.raises(CommandError, match=r"manage.py migrate"):
        call_command("serve", port=free_port())
