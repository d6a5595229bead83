"""Made-up trips of a file: published with their page and files, or refused at no cost."""

from __future__ import annotations

import io
from pathlib import Path

import pandas
import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from dpgeo.budgets.models import Entry
from dpgeo.core.released import TripsRelease
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import load_released
from tests.makers import ask_for
from tests.web.test_flow_inputs import WAYS, visits_file

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]


@pytest.fixture
def visits(tmp_path: Path) -> None:
    """Ingest visits of 1,100 people, each of whom walks between two squares within two hours."""
    path = tmp_path / "visits.csv"
    visits_file(path)
    call_command(
        "ingest", str(path), "--create", "--dataset=ways", "--title=Ways", "--organisation=City",
        "--area=10,0,10.1,0.1", "--budget=50", "--person=visitor", "--time=time",
        "--longitude=lon", "--latitude=lat", stdout=io.StringIO(),
    )  # fmt: skip


def publish(people: int) -> None:
    call_command(
        "release", "ways", "--mechanism=trips", "--epsilon=40", "--bound=1", "--param=cells=4",
        "--param=gap_minutes=150", f"--param=guessed_people={people}", "--publish", "--wait",
        stdout=io.StringIO(),
    )  # fmt: skip


@pytest.mark.usefixtures("visits")
def test_made_up_trips_of_visits_are_published_with_their_files(tmp_path: Path) -> None:
    publish(people=1000)
    released = load_released(Release.objects.get())
    content = released.content
    assert isinstance(content, TripsRelease)
    # With noise of rate 18, one count of trips is off by 1 or more with probability 3e-8. At least
    # one of the four counts is off by 2 or more with probability 2e-15.
    for (start, end), number in WAYS.items():
        assert abs(int(content.ends[start, end]) - number) <= 1
    assert int(content.ends[0, 10]) <= 1, "a visit thirty hours later begins another trip"
    client = Client()
    release = ask_for(Release.objects.get(), "trips-made-up.csv")
    page = client.get(f"/maps/{release.pk}/").content.decode()
    assert "Nobody made the trips on this map." in page
    for ending in ("parquet", "gpx", "csv"):
        # The part of the page above the list of files links to the made-up trips.
        assert f"/files/trips-made-up.{ending}" in page.partition('<div class="use">')[0]
    german = client.get(f"/de/maps/{release.pk}/").content.decode()
    assert "Niemand hat die Fahrten auf dieser Karte gemacht." in german
    document = client.get(f"/api/v1/releases/{release.pk}").json()
    addresses = {file["name"]: file["url"] for file in document["files"]}
    (tmp_path / "made-up.csv").write_bytes(b"".join(client.get(addresses["trips-made-up.csv"])))
    points = pandas.read_csv(tmp_path / "made-up.csv")
    trips = points["trip"].nunique()
    assert abs(trips - sum(WAYS.values())) < 20
    assert points["made_up"].all()


@pytest.mark.usefixtures("visits")
def test_too_few_people_are_refused_before_anything_is_paid() -> None:
    entries = Entry.objects.count()
    with pytest.raises(CommandError, match="would be noise"):
        publish(people=2)
    assert not Release.objects.exists()
    assert Entry.objects.count() == entries
