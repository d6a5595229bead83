"""The upgrade of an installation that version 0.1.0 made and filled.

`installation_0_1_0.tar.xz` is the folder `var/` of that version with invented people: two members,
an API key, a dataset with a published map, a draft, a withdrawn map, a request that waits and an
erased person, and a dataset with moved points. All of it was made by the services of 0.1.0 itself,
by `installation_0_1_0.py`, which prints the constants below with each new archive.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import global_settings
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.test import Client

from dpgeo.budgets.models import Entry, Ledger
from dpgeo.commands.management.commands.reap import Command as Reaper
from dpgeo.core.errors import BudgetExceeded
from dpgeo.datasets.ingest_job import upload_ingest
from dpgeo.datasets.models import Dataset
from dpgeo.datasets.storage import public_storage
from dpgeo.datasets.uploads import upload_confirm, upload_receive
from dpgeo.ingest.schema import Columns
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import released_of
from dpgeo.releases.services import release_publish, release_run, release_withdraw
from dpgeo.releases.states import ReleaseState
from tests.makers import make_request
from tests.web.test_backup import machine
from tests.web.test_migrations import connected_to

pytestmark = pytest.mark.django_db(transaction=True)

ARCHIVE = Path(__file__).parent / "installation_0_1_0.tar.xz"

SECRET = "dpg_GPdMyT-t1g7CVSXDkjtxbhMWJdGK6iFBj1WARfGh8xw"  # noqa: S105
PASSWORD = "water under bridges"  # noqa: S105

PUBLISHED, DRAFT, WITHDRAWN, WAITING, POINTS = (
    "EJojQuQAdjqJG93qW5labQ",
    "vYWWVcFVMIT1Uu2SDmfvfg",
    "x-fCBvT9atDQYD7RazSCtg",
    "IdUZKBuU3pp7xUKyquyGGw",
    "R9JlTXch1VaMPcbFrlQqCQ",
)

SPENT = {"Trips through Vessby": 1_500_000, "Reports of Vessby": 0}


@pytest.fixture
def upgraded(tmp_path: Path) -> Iterator[Path]:
    """Yield the folder of a 0.1.0 installation that was migrated as `docs/upgrade.md` says."""
    if connection.vendor != "sqlite":
        pytest.skip("The installation of 0.1.0 has an SQLite database.")
    folder = tmp_path / "var"
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    with machine(folder), connected_to(str(folder / "dpgeo.sqlite3")):
        call_command("migrate", verbosity=0)
        yield folder


@pytest.mark.usefixtures("upgraded")
def test_members_keys_maps_and_files_are_as_they_were(settings: Any) -> None:
    states = dict(Release.objects.values_list("pk", "state"))
    assert states == {
        PUBLISHED: ReleaseState.PUBLISHED,
        DRAFT: ReleaseState.DRAFT,
        WITHDRAWN: ReleaseState.WITHDRAWN,
        WAITING: ReleaseState.DRAFT,
        POINTS: ReleaseState.DRAFT,
    }
    reader = Client()
    assert reader.get(f"/maps/{PUBLISHED}/").status_code == 200
    assert reader.get(f"/maps/{WITHDRAWN}/").status_code == 410
    assert reader.get(f"/maps/{DRAFT}/").status_code == 404
    for file in Release.objects.get(pk=PUBLISHED).files.all():
        with public_storage().open(file.stored_name, "rb") as stored:
            expected = stored.read()
        got = reader.get(f"/api/v1/releases/{PUBLISHED}/files/{file.name}")
        assert got.getvalue() == expected
    settings.PASSWORD_HASHERS = global_settings.PASSWORD_HASHERS
    member = Client()
    answer = member.post("/accounts/login/", {"username": "ann", "password": PASSWORD})
    assert answer.status_code == 302
    assert f"/maps/{DRAFT}/" in member.get("/desk/").content.decode()
    key = {"Authorization": f"Bearer {SECRET}"}
    assert reader.get("/api/v1/datasets/vessby", headers=key).status_code == 200


@pytest.mark.usefixtures("upgraded")
def test_the_ledger_is_exact_and_what_waited_is_drawn_for_what_it_cost() -> None:
    for name, spent in SPENT.items():
        ledger = Ledger.objects.get(name=name)
        entries = Entry.objects.filter(ledger=ledger)
        assert ledger.spent_units == sum(entry.units for entry in entries) == spent
    assert release_run(release_id=WAITING)
    Reaper()._round(sweeps=True, sweeps_work=True)
    assert {each: Ledger.objects.get(name=each).spent_units for each in SPENT} == SPENT
    with (
        pytest.raises(DatabaseError, match="append-only"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute("UPDATE budgets_entry SET units = 1")
    dataset = Dataset.objects.get(slug="vessby")
    with pytest.raises(BudgetExceeded):
        make_request(dataset, epsilon="2.6")
    later = make_request(dataset, epsilon="2.5")
    assert release_run(release_id=later.pk)
    for pk in (DRAFT, WAITING, POINTS, later.pk):
        shown = release_publish(release=Release.objects.get(pk=pk), by=None)
        assert Client().get(f"/maps/{pk}/").status_code == 200
        assert released_of(shown).guarantee
    release_withdraw(release=Release.objects.get(pk=PUBLISHED), by=None)
    assert Client().get(f"/maps/{PUBLISHED}/").status_code == 410


def test_keys_of_hashes_leave_the_database_and_the_erased_stay_out(upgraded: Path) -> None:
    assert (upgraded / "person-key").stat().st_mode & 0o077 == 0
    dataset = Dataset.objects.get(slug="vessby")
    content = "who,lat,lon,seen\n" + "".join(
        f"{who},50.05,10.05,2026-10-03T10:00:0{second}\n"
        for who in ("p7", "p8")
        for second in range(3)
    )
    file = io.BytesIO(content.encode())
    upload = upload_receive(dataset=dataset, file=file, file_name="new.csv", created_by=None)
    columns = Columns(person="who", latitude="lat", longitude="lon", time="seen")
    upload_confirm(upload=upload, columns=columns)
    assert upload_ingest(upload_id=upload.pk)
    upload.refresh_from_db()
    assert upload.report is not None
    assert upload.report["accepted"] == 3
