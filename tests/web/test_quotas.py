"""Quotas of an organisation and the cap on its budgets; no refusal depends on any row."""

from __future__ import annotations

import io
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import caches
from django.test import Client

from dpgeo.accounts.models import Organisation, Role, Scope
from dpgeo.accounts.services import key_create
from dpgeo.core.errors import Conflict
from dpgeo.core.levels import make_level
from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.quotas import organisation_use, stored_bytes
from dpgeo.datasets.resumable_uploads import transfer_append, transfer_begin, transfer_complete
from dpgeo.datasets.services import dataset_update
from dpgeo.datasets.storage import private_storage
from dpgeo.datasets.uploads import upload_discard, upload_receive
from tests.makers import make_dataset, make_ready, make_request, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_counts() -> Iterator[None]:
    caches["throttle"].clear()
    yield
    caches["throttle"].clear()


def allow(dataset: Dataset, **limits: Any) -> None:
    Organisation.objects.filter(pk=dataset.organisation_id).update(**limits)
    dataset.organisation.refresh_from_db()


def receive(dataset: Dataset, size: int) -> Upload:
    file = io.BytesIO(b"x" * size)
    return upload_receive(dataset=dataset, file=file, file_name="a.csv", created_by=None)


def test_files_beyond_the_quota_are_refused_and_not_kept(settings: Any) -> None:
    dataset = make_dataset()
    other = make_dataset(dataset.organisation)
    allow(dataset, quota_bytes=10)
    upload = receive(dataset, 6)
    stored = set(private_storage().listdir("uploads")[1])
    with pytest.raises(Conflict, match="MiB of uploaded files"):
        receive(other, 5)
    assert set(private_storage().listdir("uploads")[1]) == stored
    receive(other, 4)
    upload_discard(upload=upload, by=None)
    receive(dataset, 6)
    assert stored_bytes(dataset.organisation_id) == 10


def test_files_that_are_being_sent_count_with_the_size_announced() -> None:
    dataset = make_dataset()
    allow(dataset, quota_bytes=10)
    user = make_user(dataset.organisation)
    transfer = transfer_begin(dataset=dataset, file_name="a.csv", size=8, by=user)
    with pytest.raises(Conflict):
        transfer_begin(dataset=dataset, file_name="b.csv", size=3, by=user)
    with pytest.raises(Conflict):
        receive(dataset, 3)
    assert not isinstance(transfer, Upload)
    transfer_append(transfer=transfer, offset=0, stream=io.BytesIO(b"x" * 8), length=8)
    # completing a transfer does not count it a second time
    transfer_complete(transfer=transfer, by=user)
    assert stored_bytes(dataset.organisation_id) == 8


def test_what_becomes_of_a_file_does_not_change_what_counts(tmp_path: Path) -> None:
    """What becomes of a file does not change what counts towards quotas.

    Otherwise, a refusal could show whether its rows could be read, or when a job ended.
    """
    dataset = make_dataset()
    upload = make_ready(dataset, tmp_path)
    for state in (UploadState.RECEIVED, UploadState.QUEUED, UploadState.READY, UploadState.FAILED):
        for name in ("", "canonical/a"):
            Upload.objects.filter(pk=upload.pk).update(
                state=state, canonical_name=name, raw_name=""
            )
            assert stored_bytes(dataset.organisation_id) == upload.size
    Upload.objects.create(
        dataset=dataset, file_name="a", size=1, state=UploadState.QUEUED, erasing=b"x" * 16
    )
    assert stored_bytes(dataset.organisation_id) == upload.size
    Upload.objects.filter(pk=upload.pk).update(state=UploadState.ERASED)
    Upload.objects.filter(erasing__isnull=False).update(erasing=None, state=UploadState.READY)
    assert stored_bytes(dataset.organisation_id) == upload.size


def test_jobs_beyond_the_quota_of_a_day_are_refused_and_never_given_back(tmp_path: Path) -> None:
    dataset = make_dataset()
    make_ready(dataset, tmp_path)
    allow(dataset, quota_jobs=2)
    user = make_user(dataset.organisation, Role.APPROVER)
    for _ in range(2):
        make_request(dataset, by=user, epsilon="0.1")
    with pytest.raises(Conflict, match="2 jobs a day"):
        make_request(dataset, by=user, epsilon="0.1")
    dataset.ledger.refresh_from_db()
    assert dataset.ledger.spent == Fraction("0.2")
    make_request(dataset, by=None, epsilon="0.1")  # the operator at the console has no limit
    assert organisation_use(dataset.organisation).jobs == 3


def test_the_keys_of_an_organisation_share_its_requests() -> None:
    dataset = make_dataset()
    allow(dataset, quota_requests=3)
    maker = make_user(dataset.organisation, Role.ADMINISTRATOR)
    clients = []
    for name in ("a", "b"):
        _, secret = key_create(
            organisation=dataset.organisation,
            name=name,
            scopes=[Scope.JOBS_READ],
            created_by=maker,
        )
        clients.append(Client(headers={"Authorization": f"Bearer {secret}"}))
    answers = [each.get("/api/v1/mechanisms") for each in (*clients, *clients)]
    assert [each.status_code for each in answers] == [200, 200, 200, 429]
    assert answers[-1]["Retry-After"]
    assert organisation_use(dataset.organisation).requests == 4
    assert Client().get("/api/v1/mechanisms").status_code == 200


@pytest.mark.parametrize("most_level", [None, Decimal("2.772")])
def test_a_cap_holds_for_points_too(most_level: Decimal | None) -> None:
    """A cap on budgets holds for points, too.

    The same level within a smaller radius reveals more, so levels are compared at one radius.
    """
    dataset = make_dataset(budget=Fraction(2), points_budget=make_level("1.386", 200))
    allow(dataset, most_epsilon=Decimal("2.5"), most_level=most_level)
    for level in (make_level("ln 16", 200), make_level("1.387", 100)):
        with pytest.raises(Conflict, match="points") as refusal:
            make_dataset(dataset.organisation, budget=Fraction(2), points_budget=level)
        assert refusal.value.field == "points_budget"
    with pytest.raises(Conflict, match="points"):
        dataset_update(dataset=dataset, changes={"points_budget": make_level("ln 16", 200)})
    assert dataset.ledger.geo.total_units == make_level("1.386", 200).pico
    if most_level is not None:
        for level in (make_level("2.772", 200), make_level("1.386", 100)):
            other = make_dataset(dataset.organisation, budget=Fraction(2), points_budget=level)
            assert other.ledger.geo.total_units == level.pico


def test_no_budget_exceeds_the_cap() -> None:
    dataset = make_dataset(budget=Fraction(2))
    allow(dataset, most_epsilon=Decimal("2.5"))
    for total in (Fraction(3), Fraction("2.500001")):
        with pytest.raises(Conflict, match=r"at most epsilon 2\.5") as refusal:
            dataset_update(dataset=dataset, changes={"budget": total})
        assert refusal.value.field == "budget"
    dataset.ledger.refresh_from_db()
    assert dataset.ledger.total == 2
    dataset_update(dataset=dataset, changes={"budget": Fraction("2.5")})
    with pytest.raises(Conflict):
        make_dataset(dataset.organisation, budget=Fraction(4))
    assert Dataset.objects.filter(organisation=dataset.organisation).count() == 1
    shared = make_dataset(dataset.organisation, budget=None, ledger=dataset.ledger)
    assert shared.ledger == dataset.ledger
