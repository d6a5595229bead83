"""Public geometry: declarations after data were uploaded, and what releases say about it."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from dpgeo.artefacts.statement import statement
from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.core.levels import make_level
from dpgeo.datasets.dataset_budgets import dataset_merge_ledgers
from dpgeo.datasets.layers import declared_before_upload
from dpgeo.datasets.models import Dataset, PublicLayer, Transfer, Upload
from dpgeo.datasets.previews import upload_preview
from dpgeo.datasets.resumable_uploads import transfer_append, transfer_begin, transfer_complete
from dpgeo.datasets.services import dataset_discard, dataset_update
from dpgeo.datasets.uploads import upload_confirm, upload_discard
from dpgeo.ingest.schema import Columns
from dpgeo.releases.models import Release
from dpgeo.releases.released_layers import layer_declare, layer_facts
from dpgeo.releases.selectors import load_released
from dpgeo.releases.services import release_publish
from tests.makers import (
    CSV,
    SOURCE,
    make_dataset,
    make_ready,
    make_received,
    make_release,
    make_user,
)

pytestmark = pytest.mark.django_db

COLUMNS = Columns(person="who", latitude="lat", longitude="lon")

PLACE = {"place": "Vessby", **SOURCE}

POINTS: dict[str, Any] = {
    "mechanism": "planar-laplace",
    "parameters": {"level": "ln(2)", "radius": 200, "cells": 16, "prior": "crowd"},
    "epsilon": None,
    "bound": 2,
}


def squares_around(rows: bytes, side: float = 0.0005) -> bytes:
    """Return a density of small squares around the positions of the rows, one person in each.

    The squares have sides of `side` degrees.
    """
    features = []
    for line in rows.decode().splitlines()[1:]:
        _, lat, lon = line.split(",")
        (south, west) = float(lat) - side / 2, float(lon) - side / 2
        (north, east) = south + side, west + side
        ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
        if north < 90:
            geometry = {"type": "Polygon", "coordinates": [ring]}
            facts = {"properties": {"people": 1}, "geometry": geometry}
            features.append({"type": "Feature", **facts})
    return json.dumps({"type": "FeatureCollection", "features": features}).encode()


def crowd(
    dataset: Dataset, content: bytes | None = squares_around(CSV), **facts: Any
) -> PublicLayer:
    """Declare a density layer, by default one whose content reveals the positions of the rows."""
    file = None if content is None else io.BytesIO(content)
    fields: dict[str, Any] = {"name": "crowd", "kind": "density", "title": "Crowd"}
    return layer_declare(dataset=dataset, file=file, created_by=None, **{**fields, **facts})


def area(east: float = 10.2) -> dict[str, Any]:
    ring = [[10.0, 50.0], [east, 50.0], [east, 50.1], [10.0, 50.1], [10.0, 50.0]]
    return {"type": "Polygon", "coordinates": [ring]}


@pytest.fixture
def dataset() -> Dataset:
    return make_dataset(points_budget=make_level("ln 16", 200))


def test_a_density_of_the_rows_own_places_is_refused_without_a_source(dataset: Dataset) -> None:
    make_received(dataset)
    with pytest.raises(InvalidInput, match="could have been made from its rows") as refused:
        crowd(dataset)
    assert refused.value.field == "public_source"
    assert not PublicLayer.objects.exists()


def test_with_a_source_it_is_labelled_and_nothing_is_claimed(
    dataset: Dataset, tmp_path: Path, client: Client
) -> None:
    make_ready(dataset, tmp_path)
    layer = crowd(dataset, public_source=SOURCE)
    release = release_publish(release=make_release(dataset, **POINTS), by=None)
    document: Any = statement(load_released(release))
    (used,) = document["public_layers"]
    assert used["meaning"].endswith("Whether it follows the data is not known.")
    assert used["declared_before_upload"] is False
    assert used["public_source"] == SOURCE
    assert used["release"] is None
    assert (used["sha256"], used["features"]) == (layer.sha256, 3)
    assert used["declared_on"] == layer.created_at.date().isoformat()
    text = json.dumps(document)
    assert "does not follow the data" not in text
    assert "What a public layer itself gives away" in document["not_protected"][-1]
    assert "declared beforehand and" not in text
    page = client.get(reverse("release-privacy", args=[release.pk])).content.decode()
    for words in ("Crowd, 3 features", "after a file was uploaded", SOURCE["url"], "is not known"):
        assert words in page, words


def test_the_order_of_layer_and_upload_is_stated(dataset: Dataset, tmp_path: Path) -> None:
    layer = crowd(dataset)
    assert layer.before_upload is True
    make_ready(dataset, tmp_path)
    document: Any = statement(load_released(make_release(dataset, **POINTS)))
    (used,) = document["public_layers"]
    assert used["declared_before_upload"] is True
    assert "before any file was uploaded to this dataset" in used["meaning"]
    assert "No source was named." in used["meaning"]
    assert used["meaning"] in " ".join(document["post_processing"])


def test_a_deleted_upload_and_one_of_the_same_people_count(dataset: Dataset) -> None:
    upload_discard(upload=make_received(dataset), by=None)
    sibling = make_dataset(dataset.organisation, budget=None, ledger=dataset.ledger)
    for each in (dataset, sibling):
        with pytest.raises(InvalidInput, match="could have been made from its rows"):
            crowd(each)
    assert crowd(sibling, public_source=SOURCE).before_upload is False
    assert crowd(make_dataset(dataset.organisation)).before_upload is True


def test_a_file_counts_from_its_first_piece(dataset: Dataset) -> None:
    by = make_user(dataset.organisation)
    transfer = transfer_begin(dataset=dataset, file_name="a.csv", size=len(CSV), by=by)
    assert isinstance(transfer, Transfer)
    assert crowd(dataset).before_upload is True  # no byte of an upload has arrived yet
    transfer_append(transfer=transfer, offset=0, stream=io.BytesIO(CSV), length=5)
    with pytest.raises(InvalidInput, match="could have been made from its rows"):
        crowd(dataset, name="later")
    dataset.refresh_from_db()
    first = dataset.first_upload_at
    transfer_append(transfer=transfer, offset=5, stream=io.BytesIO(CSV[5:]), length=len(CSV) - 5)
    transfer_complete(transfer=transfer, by=by)
    dataset.refresh_from_db()
    assert dataset.first_upload_at == first


def test_uploads_to_a_discarded_dataset_count_for_those_of_the_same_budget(
    dataset: Dataset,
) -> None:
    older, younger = (
        make_dataset(dataset.organisation, budget=None, ledger=dataset.ledger) for _ in range(2)
    )
    make_received(older)
    make_received(dataset)
    make_received(younger)
    Dataset.objects.filter(pk=younger.pk).update(first_upload_at=None)
    dataset.refresh_from_db()
    older.refresh_from_db()
    moment, elsewhere = older.first_upload_at, make_dataset(dataset.organisation)
    dataset_discard(dataset=dataset)
    younger.refresh_from_db()
    assert younger.first_upload_at == dataset.first_upload_at
    dataset_discard(dataset=older)
    younger.refresh_from_db()
    elsewhere.refresh_from_db()
    assert (younger.first_upload_at, elsewhere.first_upload_at) == (moment, None)
    with pytest.raises(InvalidInput, match="could have been made from its rows"):
        crowd(younger)


def test_uploads_count_from_a_budget_that_was_merged_later(dataset: Dataset) -> None:
    older = make_dataset(dataset.organisation)
    make_received(older)
    layer = crowd(dataset)
    assert declared_before_upload(layer) is True
    dataset_merge_ledgers(dataset=dataset, ledger=older.ledger, by=None)
    assert declared_before_upload(layer) is False
    assert layer_facts(layer, dataset)["declared_before_upload"] is False


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": " "}, "Must not be empty"),
        ({"url": ""}, "is not an https address"),
        ({"date": ""}, "write it like 2026-01-31"),
        ({"url": "http://example.org/census"}, "is not an https address"),
        ({"url": "https://user:word@example.org/"}, "is not an https address"),
        ({"url": "https://[example.org/"}, "is not an https address"),
        ({"url": "https://census"}, "is not an https address"),
        ({"date": "last year"}, "write it like 2026-01-31"),
        ({"date": "2999-01-31"}, "lies in the future"),
    ],
)
def test_a_source_has_a_name_an_address_and_a_date(
    dataset: Dataset, changes: dict[str, str], words: str
) -> None:
    with pytest.raises(InvalidInput, match=words) as refused:
        crowd(dataset, public_source=SOURCE | changes)
    assert refused.value.field == f"public_source.{next(iter(changes))}"


@pytest.fixture
def published(dataset: Dataset, tmp_path: Path) -> Release:
    make_ready(dataset, tmp_path)
    return release_publish(release=make_release(dataset, title="Where all are"), by=None)


def test_the_software_makes_a_layer_from_a_release_itself(
    dataset: Dataset, published: Release
) -> None:
    wrong: dict[str, dict[str, Any]] = {
        "file": {},
        "public_source": {"content": None, "public_source": SOURCE},
    }
    for field, given in wrong.items():
        with pytest.raises(InvalidInput, match="makes the layer from the release") as refused:
            crowd(dataset, release=published.pk, **given)
        assert refused.value.field == field
    layer = crowd(dataset, None, release=published.pk)
    assert (layer.source_release, layer.before_upload) == (published.pk, False)


def test_a_prior_from_the_same_people_says_who_paid_for_it(
    dataset: Dataset, published: Release
) -> None:
    crowd(dataset, None, release=published.pk)
    document: Any = statement(load_released(make_release(dataset, **POINTS)))
    (used,) = document["public_layers"]
    assert used["release"] == {
        "id": published.pk,
        "title": "Where all are",
        "dataset": dataset.title,
        "cost": "epsilon 1",
        "total": "epsilon 4",
        "same_budget": True,
        "used_layers": False,
    }
    assert not any("public layer itself" in fact for fact in document["not_protected"])
    assert "release of the same people, Where all are" in used["meaning"]
    assert "whose cost, epsilon 1, is part of their total" in used["meaning"]


def test_layers_behind_a_release_are_not_forgotten(dataset: Dataset, tmp_path: Path) -> None:
    """A statement also mentions public layers used by an earlier release that serves as a prior.

    If such a layer were in truth the positions in the data, the earlier release's remapped points
    would reveal them.
    """
    make_ready(dataset, tmp_path)
    crowd(dataset, public_source=SOURCE)
    points = release_publish(release=make_release(dataset, **POINTS), by=None)
    crowd(dataset, None, name="again", release=points.pk, release_layer="density")
    again = {**POINTS, "parameters": {**POINTS["parameters"], "prior": "again"}}
    document: Any = statement(load_released(make_release(dataset, **again)))
    assert "That release used public layers itself" in document["public_layers"][0]["meaning"]
    assert "What a public layer itself gives away" in document["not_protected"][-1]


def test_a_prior_from_other_people_says_that_budgets_add_up(
    published: Release, tmp_path: Path
) -> None:
    other = make_dataset(points_budget=make_level("ln 16", 200))
    make_ready(other, tmp_path)
    crowd(other, None, release=published.pk)
    document: Any = statement(load_released(make_release(other, **POINTS)))
    (used,) = document["public_layers"]
    assert used["release"]["same_budget"] is False
    assert "cost epsilon 1 of a budget of its own, epsilon 4 in all" in used["meaning"]
    assert "in both datasets the two budgets add up" in used["meaning"]


def test_only_published_releases_make_layers(dataset: Dataset, tmp_path: Path) -> None:
    make_ready(dataset, tmp_path)
    draft = make_release(dataset)
    for unknown in (draft.pk, "x" * 32, "../x"):
        with pytest.raises(InvalidInput, match="is not the id of a release") as refused:
            crowd(dataset, None, release=unknown)
        assert refused.value.field == "release"
    release_publish(release=draft, by=None)
    with pytest.raises(InvalidInput, match="choose from cells") as refused:
        crowd(dataset, None, release=draft.pk, release_layer="density")
    assert refused.value.field == "release_layer"
    with pytest.raises(InvalidInput, match="or give the release"):
        crowd(dataset, release_layer="cells")
    with pytest.raises(InvalidInput, match="Give the layer itself"):
        crowd(dataset, None)


def test_before_any_upload_the_area_is_free(dataset: Dataset) -> None:
    dataset_update(dataset=dataset, changes={"study_area": area()})
    with pytest.raises(InvalidInput, match="Leave this out") as refused:
        dataset_update(dataset=dataset, changes={"study_area": area(10.3), "place": PLACE})
    assert refused.value.field == "place"
    assert dataset.area_exchange == {}


def test_after_an_upload_the_area_is_only_exchanged_for_a_named_place(
    dataset: Dataset, tmp_path: Path, client: Client
) -> None:
    make_received(dataset)
    changes: list[dict[str, Any]] = [{}, {"place": SOURCE}, {"place": PLACE | {"url": "x"}}]
    for place in changes:
        with pytest.raises(InvalidInput) as refused:
            dataset_update(dataset=dataset, changes={"study_area": area(), **place})
        assert refused.value.field.partition(".")[0] == "place"
    dataset.refresh_from_db()
    assert dataset.study_area != area()
    dataset_update(dataset=dataset, changes={"study_area": dataset.study_area, "title": "Walks"})
    dataset_update(dataset=dataset, changes={"study_area": area(10.3), "place": PLACE})
    dataset_update(dataset=dataset, changes={"study_area": area(), "place": PLACE})
    make_ready(dataset, tmp_path)
    release = release_publish(release=make_release(dataset), by=None)
    document: Any = statement(load_released(release))
    exchange = document["study_area_exchange"]
    assert (exchange["place"], exchange["source"], exchange["times"]) == ("Vessby", SOURCE, 2)
    assert "was exchanged for another named place (times: 2)" in exchange["meaning"]
    page = client.get(reverse("release-privacy", args=[release.pk])).content.decode()
    assert "After a file had been uploaded" in page
    assert "Vessby, with the outline of Census of 2021" in page


def test_the_first_confirmation_freezes_area_and_place(dataset: Dataset) -> None:
    upload_confirm(upload=make_received(dataset), columns=COLUMNS)
    with pytest.raises(Conflict, match="declare a new dataset") as refused:
        dataset_update(dataset=dataset, changes={"study_area": area(), "place": PLACE})
    assert refused.value.field == "study_area"
    with pytest.raises(InvalidInput, match="could have been made from its rows"):
        crowd(dataset)


def test_no_hint_tells_whether_rows_lie_in_an_exchanged_area(dataset: Dataset) -> None:
    away = {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]]}
    first = make_received(dataset)
    dataset_update(dataset=dataset, changes={"study_area": away, "place": PLACE})
    first.refresh_from_db()
    for upload in (first, make_received(dataset)):
        assert "study area" not in " ".join(map(str, upload_preview(upload=upload).hints))


def meanwhile(work: Callable[[], object]) -> threading.Thread:
    """Run `work` in a thread with its own connection; check that it waits for half a second."""

    def run() -> None:
        try:
            work()
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(0.5)
    assert thread.is_alive()
    return thread


@pytest.mark.django_db(transaction=True)
def test_an_upload_waits_for_a_layer_that_is_being_declared(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An upload waits for a layer that is being declared.

    Otherwise a layer could claim to be older than an upload that came first.
    """
    if connection.vendor == "sqlite":  # in SQLite, transactions that write wait for each other
        assert connection.settings_dict["OPTIONS"]["transaction_mode"] == "IMMEDIATE"
        return
    create = PublicLayer.objects.create
    waiting: list[threading.Thread] = []

    def slowly(**facts: Any) -> PublicLayer:
        waiting.append(meanwhile(lambda: make_received(dataset)))
        return create(**facts)

    monkeypatch.setattr(PublicLayer.objects, "create", slowly)
    layer = crowd(dataset)
    waiting[0].join(30)
    dataset.refresh_from_db()
    assert dataset.first_upload_at is not None
    assert layer.before_upload is True


@pytest.mark.django_db(transaction=True)
def test_a_layer_waits_for_an_upload_that_is_arriving(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    if connection.vendor == "sqlite":
        return
    create = Upload.objects.create
    refusals: list[InvalidInput] = []
    waiting: list[threading.Thread] = []

    def declare() -> None:
        try:
            crowd(dataset)
        except InvalidInput as refusal:
            refusals.append(refusal)

    def slowly(**facts: Any) -> Any:
        waiting.append(meanwhile(declare))
        return create(**facts)

    monkeypatch.setattr(Upload.objects, "create", slowly)
    make_received(dataset)
    waiting[0].join(30)
    assert [refusal.field for refusal in refusals] == ["public_source"]
    assert not PublicLayer.objects.exists()
