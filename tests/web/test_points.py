"""Perturbed points: their separate ledger, and the stated guarantee."""

from __future__ import annotations

import csv
import io
import uuid
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from django.core.files.base import ContentFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from dpgeo.artefacts.codec import UnwritableRelease
from dpgeo.artefacts.statement import statement
from dpgeo.budgets.models import Entry, Ledger
from dpgeo.budgets.selectors import points_ledger
from dpgeo.budgets.services import budget_debit_found
from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.core.guarantees import GeoInd
from dpgeo.core.levels import make_level
from dpgeo.core.released import PointsRelease
from dpgeo.datasets.layer_declaration import PublicSource
from dpgeo.datasets.layers import public_layer_add, public_layer_remove
from dpgeo.datasets.models import Dataset, PublicLayer
from dpgeo.datasets.selectors import ready_upload
from dpgeo.datasets.services import dataset_update
from dpgeo.datasets.storage import private_storage, public_storage
from dpgeo.jobs.models import JobState
from dpgeo.privacy.positions import Reports
from dpgeo.releases.blobs import new_blob_name
from dpgeo.releases.selectors import load_released
from dpgeo.releases.services import release_publish, release_run
from dpgeo.releases.states import ReleaseState
from tests.makers import (
    SOURCE,
    ask_for,
    make_dataset,
    make_ready,
    make_release,
    make_request,
    quote_release,
)

pytestmark = pytest.mark.django_db

POINTS: dict[str, Any] = {
    "mechanism": "planar-laplace",
    "parameters": {"level": "ln(2)", "radius": 200, "cells": 16},
    "epsilon": None,
    "bound": 2,
}


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    """Make a dataset with data, a budget of 4, and a budget for points of ln 16 within 200 m."""
    new = make_dataset(points_budget=make_level("ln 16", 200))
    make_ready(new, tmp_path)
    return new


def ledger_of(dataset: Dataset) -> Ledger:
    ledger = points_ledger(dataset.ledger)
    assert ledger is not None
    return ledger


def test_points_are_paid_from_their_own_budget_and_published(dataset: Dataset) -> None:
    release = make_release(dataset, **POINTS)
    assert str(release.job.failure) == ""
    released = load_released(release)
    assert isinstance(released.content, PointsRelease)
    assert len(released.content.longitude) == 40
    assert isinstance(released.guarantee, GeoInd)
    ledger = ledger_of(dataset)
    assert ledger.spent_units == 2 * make_level("ln 2", 200).pico
    dataset.ledger.refresh_from_db()
    assert dataset.ledger.spent_units == 0
    names = {file.name for file in release.files.all()}
    assert {"points.parquet", "points.geojson", "points.csv", "density.parquet"} <= names
    release_publish(release=release, by=None)
    ledger.refresh_from_db()
    assert ledger.promised_at is not None
    assert release.cost_words == "level ln 4 within 200 m"


def test_more_reports_without_times_than_the_bound_are_no_reason_to_fail(
    dataset: Dataset, tmp_path: Path
) -> None:
    """A release does not fail if a person has more reports without times than the bound allows.

    Failures are visible to people who must not learn how many reports anybody has.
    """
    upload = ready_upload(dataset)
    assert upload is not None
    source = Path(private_storage().path(upload.canonical_name))
    table = pq.read_table(source)
    timeless = pa.nulls(table.num_rows, pa.int64())
    at = table.schema.get_field_index("time")
    pq.write_table(table.set_column(at, table.schema.field(at), timeless), source)
    release = make_release(dataset, **POINTS)
    assert not release.job.failure
    content = load_released(release).content
    assert isinstance(content, PointsRelease)
    people = pc.value_counts(table["person_low"]).to_pylist()
    assert max(each["counts"] for each in people) > POINTS["bound"]
    counts_kept = (min(each["counts"], POINTS["bound"]) for each in people)
    assert len(content.longitude) == sum(counts_kept)


def test_without_a_budget_for_points_there_are_none(tmp_path: Path) -> None:
    dataset = make_dataset()
    make_ready(dataset, tmp_path)
    with pytest.raises(Conflict, match="no budget for points"):
        make_release(dataset, **POINTS)


def test_a_radius_with_a_coarser_grid_than_that_of_the_budget_is_refused(
    dataset: Dataset,
) -> None:
    """A radius that needs a coarser grid than the budget's is refused.

    On a grid of 10 m, a report that its noise would move by one metre may be moved by ten.
    """
    with pytest.raises(InvalidInput, match="at most 200 m") as refused:
        make_release(dataset, **{**POINTS, "parameters": {"level": "1", "radius": 1000}})
    assert refused.value.field == "radius"
    assert Ledger.objects.get(beside=dataset.ledger).spent_units == 0


def test_a_quote_states_how_far_points_move(dataset: Dataset) -> None:
    quote = quote_release(dataset, counting="people", **POINTS)
    assert quote.forecast.radii is not None
    assert quote.forecast.radii[0] == pytest.approx(488, abs=3)
    assert quote.more_like_this == 1
    assert quote.words(quote.left_after) == "level 1.386295 within 200 m"


def test_a_release_that_does_not_state_the_budget_for_points_is_not_published(
    tmp_path: Path,
) -> None:
    dataset = make_dataset()
    make_ready(dataset, tmp_path)
    release = make_release(dataset)
    dataset_update(dataset=dataset, changes={"points_budget": make_level("ln 4", 100)})
    with pytest.raises(Conflict, match="does not state it"):
        release_publish(release=release, by=None)
    release.refresh_from_db()
    assert release.state == ReleaseState.DRAFT


def declare(dataset: Dataset, document: bytes) -> PublicLayer:
    return public_layer_add(
        dataset=dataset,
        name="crowd",
        kind="density",
        title="Census of 2021",
        file=io.BytesIO(document),
        created_by=None,
        provenance=PublicSource.read(SOURCE),
    )


def test_a_published_map_can_be_a_prior_and_is_protected_and_stated(
    dataset: Dataset, client: Client
) -> None:
    published = ask_for(release_publish(release=make_release(dataset), by=None), "cells.geojson")
    file = published.files.get(name="cells.geojson")
    with public_storage().open(file.stored_name, "rb") as opened:
        layer = declare(dataset, opened.read())
    fields = {**POINTS, "parameters": {**POINTS["parameters"], "prior": "crowd"}}
    with_prior, without = make_release(dataset, **fields), make_release(dataset, **POINTS)
    assert str(with_prior.job.failure) == ""
    released = load_released(with_prior)
    assert released.guarantee == load_released(without).guarantee
    assert isinstance(released.content, PointsRelease)
    assert released.content.prior == "crowd"
    release_publish(release=with_prior, by=None)
    page = client.get(reverse("release", args=[with_prior.pk])).content.decode()
    assert "most likely made, given a public density" in page
    sentences = " ".join(statement(released)["post_processing"])
    assert f"Census of 2021, SHA-256 {layer.sha256}" in sentences
    with pytest.raises(Conflict, match="has to stay"):
        public_layer_remove(layer=layer, by=None)


def test_the_page_explains_padded_and_remapped_points(dataset: Dataset, client: Client) -> None:
    half = {**POINTS, "parameters": {**POINTS["parameters"], "level": "ln(2)", "padded": True}}
    plain, padded = make_release(dataset, **POINTS), make_release(dataset, **half)
    texts = []
    for release in (plain, padded):
        release_publish(release=release, by=None)
        texts.append(client.get(reverse("release", args=[release.pk])).content.decode())
    content = load_released(padded).content
    assert isinstance(content, PointsRelease)
    assert content.padded == POINTS["bound"]
    assert ["some points are invented" in text for text in texts] == [False, True]
    assert not any("most likely made, given a public" in text for text in texts)


APP = {"column": "app", "values": ["1.4", "2.0"]}


@pytest.fixture
def telling(tmp_path: Path) -> Dataset:
    """Make a dataset like `dataset` in which the column `app` is a public attribute."""
    new = make_dataset(points_budget=make_level("ln 16", 200), public_attributes=[APP])
    make_ready(new, tmp_path)
    return new


def test_declared_public_attributes_are_published_with_every_point(
    telling: Dataset, client: Client
) -> None:
    fields = {**POINTS, "parameters": {**POINTS["parameters"], "attributes": True}}
    release = make_release(telling, **fields)
    assert str(release.job.failure) == ""
    content = load_released(release).content
    assert isinstance(content, PointsRelease)
    assert content.combination.size == content.longitude.size == 40
    assert set(content.combination.tolist()) == {0, 1, 2}
    ask_for(release_publish(release=release, by=None), "points.csv")
    with public_storage().open(release.files.get(name="points.csv").stored_name) as file:
        table = list(csv.DictReader(io.StringIO(file.read().decode())))
    assert list(table[0]) == ["longitude", "latitude", "app"]
    assert {row["app"] for row in table} == {"1.4", "2.0", "other"}
    page = client.get(reverse("release-privacy", args=[release.pk])).content.decode()
    assert "wherever it was made, is published unchanged: app." in page


def test_public_attributes_are_published_only_on_request(telling: Dataset, client: Client) -> None:
    release = release_publish(release=make_release(telling, **POINTS), by=None)
    ask_for(release, "points.csv")
    with public_storage().open(release.files.get(name="points.csv").stored_name) as file:
        assert file.read().decode().startswith("longitude,latitude\n")
    page = client.get(reverse("release-privacy", args=[release.pk])).content.decode()
    assert "wherever it was made, is published" not in page


def test_undeclared_attributes_are_not_published(dataset: Dataset) -> None:
    """Attributes that have not been declared public are not published.

    The rows contain an attribute, but a request to publish it is refused and costs nothing.
    """
    fields = {**POINTS, "parameters": {**POINTS["parameters"], "attributes": True}}
    with pytest.raises(InvalidInput, match="declared public") as refused:
        make_release(dataset, **fields)
    assert refused.value.field == "attributes"
    assert ledger_of(dataset).spent_units == 0


def test_public_attributes_are_frozen_with_the_first_file(telling: Dataset) -> None:
    telling.frozen_at = timezone.now()
    telling.save()
    with pytest.raises(Conflict) as refused:
        dataset_update(dataset=telling, changes={"public_attributes": []})
    assert refused.value.field == "public_attributes"


def test_an_undeclared_prior_is_refused(dataset: Dataset) -> None:
    fields = {**POINTS, "parameters": {**POINTS["parameters"], "prior": "crowd"}}
    with pytest.raises(InvalidInput) as refused:
        make_release(dataset, **fields)
    assert refused.value.field == "prior"
    assert ledger_of(dataset).spent_units == 0


def test_a_large_file_is_perturbed_batch_by_batch(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpgeo.engine.reports.REPORTS", 7)
    chunks: list[int] = []

    def counted(reports: Reports) -> Reports:
        chunks.append(len(reports.longitude))
        return reports

    monkeypatch.setattr("dpgeo.engine.reports.Reports", lambda *given: counted(Reports(*given)))
    release = make_release(dataset, **POINTS)
    assert (release.job.state, str(release.job.failure)) == (JobState.DONE, "")
    content = load_released(release).content
    assert isinstance(content, PointsRelease)
    assert len(content.longitude) == 40
    assert max(chunks) <= 7
    assert (np.diff(content.longitude) >= 0).all()
    assert ledger_of(dataset).spent_units == 2 * make_level("ln 2", 200).pico


def test_a_failure_after_the_noise_ends_the_release(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpgeo.privacy.meter.gather", Mock(side_effect=RuntimeError))
    release = make_release(dataset, **POINTS)
    assert release.job.state == JobState.FAILED
    assert "broke off after noise was drawn" in str(release.job.failure)
    assert ledger_of(dataset).spent_units == 2 * make_level("ln 2", 200).pico


@pytest.mark.parametrize("name", ["release", "release-privacy"])
def test_its_pages_promise_about_places_and_not_about_presence(
    dataset: Dataset, client: Client, name: str
) -> None:
    counts, points = make_release(dataset), make_release(dataset, **POINTS)
    for release in (counts, points):
        release_publish(release=release, by=None)
        page = client.get(reverse(name, args=[release.pk]))
        text = page.content.decode()
        assert page.status_code == 200
        assert ("here or 200 m away?" in text) is (release == points)
        assert ("are you in these data, too?" in text) is (release == counts)
        assert ("Moved points from these data show that reports were made." in text) is (
            release == counts
        )
        assert ("Where you were, from all maps and points" in text) is (release == points)
        if name == "release":
            assert ("The likeliest places as a table" in text) is (release == points)


def test_points_found_after_a_restore_keep_their_coarser_grid(dataset: Dataset) -> None:
    ledger = ledger_of(dataset)
    cost = make_release(dataset, **POINTS).cost
    budget_debit_found(ledger=ledger, job=uuid.uuid4(), cost=cost, what="x", radius=5_000)
    assert ledger_of(dataset).snapping == 25_000


def test_an_installation_that_cannot_write_refunds_nothing_that_may_be_drawn(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An installation that cannot write refunds nothing that may have been drawn.

    This holds for counts and for points: after a restore, a queued job may already have been drawn.
    """
    drawn, untouched = (make_request(dataset, **POINTS) for _ in range(2))
    private_storage().save(new_blob_name(drawn), ContentFile(b"cut short"))
    monkeypatch.setattr(
        "dpgeo.releases.release_job.check_encodable", Mock(side_effect=UnwritableRelease("No."))
    )
    for release in (drawn, untouched):
        release_run(release_id=release.pk)
        release.refresh_from_db()
        assert release.job.state == JobState.FAILED
    refunded = Entry.objects.filter(kind="refund").values_list("job", flat=True)
    assert list(refunded) == [untouched.job_id]
