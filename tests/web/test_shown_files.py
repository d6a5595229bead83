"""The record of opened files, which depends on members' actions and not on file contents."""

from __future__ import annotations

import datetime
import io
import json
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from jsonschema import Draft202012Validator

from dpgeo.artefacts import declarations
from dpgeo.artefacts.statement import statement
from dpgeo.artefacts.statement_schema import statement_schema
from dpgeo.core.errors import Conflict
from dpgeo.datasets.ingest_job import upload_ingest
from dpgeo.datasets.models import Dataset, ShownFile, Upload
from dpgeo.datasets.practice import upload_practice
from dpgeo.datasets.services import dataset_discard, dataset_update
from dpgeo.datasets.uploads import upload_confirm, upload_receive
from dpgeo.ingest.schema import Columns
from dpgeo.phrases import Phrase
from dpgeo.releases.models import Release
from dpgeo.releases.released_layers import license_declarations
from dpgeo.releases.selectors import load_released
from dpgeo.releases.services import release_publish
from dpgeo.spatial.area import StudyArea
from tests.makers import make_dataset, make_ready, make_release, redeclare
from tests.web.api import program_of
from tests.web.desk import Desk, make_desk
from tests.web.test_check_step import address, received, rows_at

pytestmark = pytest.mark.django_db

COLUMNS = Columns(longitude="lon", latitude="lat", person="device", time="seen", file_format="csv")

TIGHT = (10.1, 50.1, 10.4, 50.4)


def stated_of(dataset: Dataset) -> dict[str, str]:
    """Return what a release of a dataset would state about its study area."""
    dataset.refresh_from_db()
    release = Release(dataset=dataset, pk="x" * 32)
    texts = license_declarations(release)
    return {name: text for name, text in texts.items() if name != declarations.LAYERS}


@pytest.mark.parametrize("second", ["the same", "one row less", "another file", "unreadable"])
def test_statements_do_not_depend_on_the_bytes_of_files(desk: Desk, second: str) -> None:
    guess = rows_at(10.2, 50.2)
    first = received(desk, guess)
    desk.page(address(first))
    dataset_discard(dataset=first.dataset)
    rows = {"the same": guess, "one row less": guess[:-1], "another file": rows_at(10.3, 50.3)}
    header = "\x00" if second == "unreadable" else "device,lon,lat,seen"
    later = received(desk, rows.get(second, ["\x00"]), header=header, area=TIGHT)
    desk.page(address(later))
    today = timezone.now().astimezone(datetime.UTC).date().isoformat()
    stated = stated_of(later.dataset)
    assert {name: json.loads(text) for name, text in stated.items()} == {
        "study_area_seen": {"areas": 1, "on": today}
    }


@pytest.mark.parametrize("rows", [rows_at(10.2, 50.2), ["\x00"]])
def test_an_opened_file_is_on_record_whether_or_not_it_can_be_read(
    desk: Desk, rows: list[str]
) -> None:
    desk.page(address(received(desk, rows)))
    assert ShownFile.objects.count() == 1


def test_a_file_that_was_confirmed_before_it_was_opened_is_on_record(desk: Desk) -> None:
    first = received(desk, rows_at(10.2, 50.2))
    redeclare(first.dataset, keep_raw=True)
    upload_confirm(upload=first, columns=COLUMNS)
    assert upload_ingest(upload_id=first.pk)
    assert 'id="points"' in desk.page(f"{address(first)}columns/")
    tight = received(desk, rows_at(10.2, 50.2), area=TIGHT)
    assert "study_area_seen" in stated_of(tight.dataset)


def test_another_format_does_not_evade_the_record(desk: Desk) -> None:
    lines = [json.dumps({"who": n % 9, "lon": 10.2, "lat": 50.2}) for n in range(40)]
    upload = received(desk, lines, header='{"trips": [', name="rows.json")
    columns = {"longitude": "lon", "latitude": "lat", "person": "who", "unit": "person"}
    columns |= {"file_format": "ndjson", "try": "1"}
    assert b'id="points"' in desk.client.post(address(upload), columns).content
    assert ShownFile.objects.count() == 1


def test_each_other_area_counts_once_and_the_same_area_never(desk: Desk) -> None:
    for _ in range(2):
        upload = received(desk, rows_at(10.2, 50.2))
        desk.page(address(upload))
        desk.page(address(upload))
    same = received(desk, rows_at(10.2, 50.2))
    assert same.dataset.area_seen == {}
    tight = received(desk, rows_at(10.2, 50.2), area=TIGHT)
    assert tight.dataset.area_seen["areas"] == 2
    ShownFile.objects.update(on=datetime.date(2026, 1, 2))
    dataset = received(desk, [], area=TIGHT).dataset
    assert dataset.area_seen == {"areas": 2, "on": "2026-01-02"}
    other = make_desk("Another house", "other")
    assert received(other, rows_at(10.2, 50.2), area=TIGHT).dataset.area_seen == {}


def test_openings_after_the_declaration_do_not_count(desk: Desk) -> None:
    earlier = received(desk, rows_at(10.2, 50.2), area=TIGHT)
    desk.page(address(received(desk, rows_at(10.2, 50.2))))
    desk.page(address(earlier))
    assert stated_of(earlier.dataset) == {}


def test_an_area_that_is_changed_counts_what_was_opened_until_then(desk: Desk) -> None:
    early = desk.declare()
    desk.page(address(received(desk, rows_at(10.2, 50.2))))
    moved = StudyArea.from_bounds(*TIGHT).to_geojson()
    dataset_update(dataset=early, changes={"title": "Walks"})
    assert early.area_seen == {}
    dataset_update(dataset=early, changes={"study_area": moved})
    assert early.area_seen["areas"] == 1


def test_invented_people_leave_no_record(desk: Desk) -> None:
    upload = upload_practice(dataset=desk.declare(), created_by=desk.user)
    desk.page(address(upload))
    assert not ShownFile.objects.exists()


def test_the_record_is_stated_on_the_page_and_in_the_statement(desk: Desk, tmp_path: Any) -> None:
    dataset = make_dataset()
    Dataset.objects.update(area_seen={"areas": 3, "on": "2026-11-22"})
    make_ready(dataset, tmp_path)
    dataset.refresh_from_db()
    release = release_publish(release=make_release(dataset), by=None)
    document: Any = statement(load_released(release))
    seen = document["study_area_seen"]
    assert (seen["areas"], seen["on"]) == (3, "2026-11-22")
    assert "(areas: 3, last on 2026-11-22)" in seen["meaning"]
    assert document["study_area_exchange"] is None
    schema = statement_schema()
    part = {**schema["properties"]["study_area_seen"], "$defs": schema["$defs"]}
    Draft202012Validator(part).validate(seen)
    page = desk.page(reverse("release-privacy", args=[release.pk]))
    assert "members of the publisher had opened files" in page


def test_the_order_of_an_area_counts_files_of_the_same_budget(desk: Desk) -> None:
    first = desk.declare(area_choice={"drawn": True})
    before = desk.declare(budget=None, ledger=first.ledger, area_choice={"drawn": True})
    upload_receive(dataset=first, file=io.BytesIO(b"a"), file_name="a.csv", created_by=desk.user)
    after = desk.declare(budget=None, ledger=first.ledger, area_choice={"drawn": True})
    words = {
        dataset: said(stated_of(dataset)["study_area_choice"]) for dataset in (first, before, after)
    }
    order = "before any file was uploaded to this dataset, or to one that shares its budget."
    assert words[first] == words[before] == f"Drawn by hand. That was {order}"
    assert "after a file was uploaded to a dataset that shares its budget" in words[after]


def said(choice: str) -> str:
    """Return the sentences that say how a study area was chosen, made from the stored choice."""

    class Drawn:
        about = {declarations.CHOICE: choice}

    drawn: Any = Drawn()
    phrases: list[Phrase] = declarations.choice_words(drawn)
    return " ".join(map(str, phrases))


def exchanged(desk: Desk, **facts: Any) -> Upload:
    """Return an upload after which the dataset's study area was replaced."""
    upload = received(desk, **facts)
    desk.client.post(f"{address(upload)}place/", {"place": "New York"})
    upload.refresh_from_db()
    assert upload.dataset.area_exchange
    return upload


def test_the_first_hidden_page_shows_neither_rows_nor_examples(desk: Desk) -> None:
    upload = exchanged(desk, rows=rows_at(10.2, 50.2))
    page = desk.page(address(upload))
    assert "points and counts are hidden" in page
    assert "Its first rows" not in page
    for value in ("10.2050", "50.2050", "10.2000", "50.2000"):
        assert value not in page


def test_the_first_hidden_page_has_no_counts_beside_its_questions(desk: Desk) -> None:
    rows = rows_at(10.2, 50.2)
    upload = exchanged(desk, rows=rows, header="device,lat,lon,seen")
    page = desk.page(address(upload))
    assert "points and counts are hidden" in page
    assert "of 200 rows" not in page


@pytest.mark.parametrize("field", ["covers_from", "covers_until"])
def test_the_days_of_a_survey_are_fixed_with_the_area(desk: Desk, field: str) -> None:
    dataset = desk.declare(covers_from="2026-03-01", covers_until="2026-03-31")
    dataset_update(dataset=dataset, changes={field: "2026-03-02"})
    file = io.BytesIO("\n".join(["device,lon,lat,seen", *rows_at(10.02, 50.02)]).encode())
    upload = upload_receive(dataset=dataset, file=file, file_name="a.csv", created_by=desk.user)
    upload_confirm(upload=upload, columns=COLUMNS)
    dataset_update(dataset=dataset, changes={field: "2026-03-02", "title": "Walks"})
    with pytest.raises(Conflict, match="declare a new dataset") as refused:
        dataset_update(dataset=dataset, changes={field: "2026-03-03"})
    assert refused.value.field == field
    asks = program_of(desk)
    answer = asks.ask("PATCH", f"/api/v1/datasets/{dataset.slug}", {field: "2026-03-03"}, 409)
    assert answer["field"] == field
    edit = f"/desk/datasets/{dataset.slug}/edit/"
    assert field not in desk.page(edit)
    typed = desk.declaration(title="Hikes", **{field: "2026-03-03"})
    assert desk.client.post(edit, typed).status_code == 302
    dataset.refresh_from_db()
    assert dataset.title == "Hikes"
    assert str(getattr(dataset, field)) == "2026-03-02"
