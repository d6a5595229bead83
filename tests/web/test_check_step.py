"""The check step of the owner's path: what it shows, when it blocks, and what stays hidden."""

from __future__ import annotations

import io

import pytest

from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.services import dataset_create, dataset_discard
from dpgeo.datasets.uploads import upload_receive
from dpgeo.spatial.area import StudyArea
from tests.web.desk import Desk

pytestmark = pytest.mark.django_db


def received(
    desk: Desk,
    rows: list[str],
    header: str = "device,lon,lat,seen",
    name: str = "a.csv",
    area: tuple[float, float, float, float] = (10, 50, 11, 51),
) -> Upload:
    """Make an upload with unconfirmed columns, in a dataset whose study area is a box."""
    dataset = dataset_create(
        organisation=desk.organisation,
        title="A box",
        licence="CC0",
        unit="person",
        study_area=StudyArea.from_bounds(*area).to_geojson(),
        time_zone="UTC",
        budget=None,
        budget_later=True,
        created_by=desk.user,
    )
    file = io.BytesIO("\n".join([header, *rows, ""]).encode())
    return upload_receive(dataset=dataset, file=file, file_name=name, created_by=desk.user)


def rows_at(lon: float, lat: float, count: int = 200) -> list[str]:
    """Return rows of fictional people near a position."""
    return [
        f"p{n % 17},{lon + n / 1000:.4f},{lat + n / 1000:.4f},2026-05-01T12:{n % 60:02d}:00Z"
        for n in range(count)
    ]


COLUMNS = {"person": "device", "longitude": "lon", "latitude": "lat", "time": "seen"}


def address(upload: Upload) -> str:
    """Return the URL of an upload's page."""
    return f"/desk/uploads/{upload.pk}/"


def test_what_was_understood_is_said_with_points_for_the_owner(desk: Desk) -> None:
    page = desk.page(address(received(desk, rows_at(10.2, 50.2))))
    assert "200 of 200 rows can be used." in page
    for column, role in (("device", "Person"), ("lon", "Longitude"), ("lat", "Latitude")):
        assert f"<code>{column}</code></th><td><b>{role}</b>" in page
    assert "Looks right" in page
    assert 'id="points"' in page
    assert "Only you see this." in page


def test_no_usable_row_stops(desk: Desk) -> None:
    upload = received(desk, rows_at(30, 10))
    page = desk.page(address(upload))
    assert "No row can be used yet" in page
    assert "The position is outside the study area" in page
    assert "Looks right" not in page
    assert "Most rows lie outside A box." in page
    answer = desk.client.post(address(upload), COLUMNS | {"anyway": "1"})
    assert answer.status_code == 422
    upload.refresh_from_db()
    assert upload.state == UploadState.RECEIVED
    assert upload.dataset.frozen_at is None


@pytest.mark.parametrize(("usable", "status"), [(0, 422), (1, 422), (179, 422), (180, 302)])
def test_it_asks_below_nine_in_ten_and_not_at_nine_in_ten(
    desk: Desk, usable: int, status: int
) -> None:
    upload = received(desk, rows_at(10.2, 50.2, usable) + rows_at(30, 10, 200 - usable))
    assert ("Continue anyway?" in desk.page(address(upload))) == (0 < usable < 180)
    assert desk.client.post(address(upload), COLUMNS).status_code == status


def test_swapped_columns_are_one_button_away(desk: Desk) -> None:
    upload = received(desk, rows_at(10.2, 50.2), header="device,lat,lon,seen")
    answer = desk.client.get(address(upload))
    assert "swapped" in answer.content.decode()
    assert "Choose another named place" not in answer.content.decode()
    [(_, answers), *_] = answer.context["questions"]
    fixed = answers[0].fields | {"try": "1", "unit": "person"}
    assert (
        "200 of 200 rows can be used." in desk.client.post(address(upload), fixed).content.decode()
    )
    upload.refresh_from_db()
    assert upload.state == UploadState.RECEIVED


def test_an_exchanged_area_hides_points_and_counts(desk: Desk) -> None:
    upload = received(desk, rows_at(-74.0, 40.6))
    place = f"{address(upload)}place/"
    page = desk.page(place)
    assert "Why your points are hidden here." in page
    assert "200 of" not in page
    assert desk.client.post(place, {"place": "Nowhere"}).status_code == 422
    assert desk.client.post(place, {"place": "New York"}).status_code == 302
    dataset = Dataset.objects.get()
    assert dataset.area_exchange["place"] == "New York"
    assert dataset.area_exchange["source"]["url"] == "https://www.iana.org/time-zones"
    assert dataset.time_zone == "America/New_York"
    page = desk.page(address(upload))
    assert "points and counts are hidden" in page
    assert "rows can be used" not in page
    assert 'id="points"' not in page
    assert desk.client.post(address(upload), COLUMNS).status_code == 302
    # The area is fixed once columns are confirmed, so it cannot be replaced.
    assert desk.client.post(place, {"place": "Paris"}).status_code == 422


def test_while_a_draft_waits_nothing_is_shown_to_compare_it_with(desk: Desk) -> None:
    dataset = desk.declare(ready=True)
    file = io.BytesIO("\n".join(["device,lon,lat,seen", *rows_at(10.02, 50.02)]).encode())
    upload = upload_receive(dataset=dataset, file=file, file_name="b.csv", created_by=desk.user)
    before = desk.page(address(upload))
    assert "p7" in before
    assert 'id="points"' in before
    desk.request(dataset)
    page = desk.page(address(upload))
    assert "A draft of these people waits for a decision" in page
    assert 'id="points"' not in page
    assert ">p7<" not in page
    assert "rows that were tried" not in page


def test_no_date_of_a_row_stands_beside_a_question_while_rows_are_hidden(desk: Desk) -> None:
    rows = [f"p{n},-73.99,40.7,03/04/2026 {n % 24:02d}:00" for n in range(90)]
    upload = received(desk, rows, header="device,lon,lat,time")
    assert "03/04/2026" in desk.page(address(upload))
    desk.client.post(f"{address(upload)}place/", {"place": "New York"})
    page = desk.page(address(upload))
    assert "points and counts are hidden" in page
    assert '<li class="asks"' in page
    assert "03/04/2026" not in page


def test_a_tighter_area_after_a_file_was_looked_at_is_on_record(desk: Desk) -> None:
    first = received(desk, rows_at(10.2, 50.2))
    assert 'id="points"' in desk.page(address(first))
    dataset_discard(dataset=first.dataset)
    again = received(desk, rows_at(10.2, 50.2))
    assert "200 of 200 rows" in desk.page(address(again))
    assert again.dataset.area_seen == {}  # no file was opened with another study area
    dataset_discard(dataset=again.dataset)
    tight = received(desk, rows_at(10.2, 50.2), area=(10.1, 50.1, 10.3, 50.3))
    assert tight.dataset.area_seen["areas"] == 2
