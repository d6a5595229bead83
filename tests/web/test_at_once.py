"""Two requests at the same time: the second sees what the first has just stored.

Each test lets the other request happen at the worst moment of the first, between a check and what
follows from it.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction

from dpgeo.budgets.merging import ledgers_lock
from dpgeo.budgets.models import Entry, Ledger
from dpgeo.budgets.selectors import points_ledger
from dpgeo.budgets.services import (
    Accounting,
    budget_debit,
    ledger_create,
    ledger_create_for_points,
    ledger_set_accounting,
)
from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.core.levels import make_level
from dpgeo.core.zcdp import parse_delta
from dpgeo.datasets import dataset_budgets
from dpgeo.datasets import services as dataset_services
from dpgeo.datasets.dataset_budgets import dataset_merge_ledgers, dataset_share_budget
from dpgeo.datasets.models import Dataset, UploadState
from dpgeo.datasets.selectors import ready_upload
from dpgeo.datasets.services import dataset_update
from dpgeo.jobs.models import Job
from dpgeo.releases import series as series_module
from dpgeo.releases import services as release_services
from dpgeo.releases.file_making import file_want
from dpgeo.releases.models import Release, Series
from dpgeo.releases.series import series_complete
from tests.makers import make_dataset, make_ready, make_request
from tests.unit.artefacts.releases import grid_release
from tests.web.published import install
from tests.web.test_series import declare

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_storages")]


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str, Callable[[], object]], None]:
    """Return a function that lets one other request happen, just before a given function runs."""

    def arrange(module: Any, name: str, other: Callable[[], object]) -> None:
        real = getattr(module, name)

        def first_other(*given: Any, **named: Any) -> Any:
            monkeypatch.setattr(module, name, real)
            other()
            return real(*given, **named)

        monkeypatch.setattr(module, name, first_other)

    return arrange


def test_a_second_request_for_a_file_leaves_nothing_not_even_in_the_log(
    django_capture_on_commit_callbacks: Any,
) -> None:
    release = install(make_dataset(), grid_release(2))
    both = [release.files.get(name="cells.csv") for _ in range(2)]
    file_want(file=both[0])
    with django_capture_on_commit_callbacks() as said:
        file_want(file=both[1])
    assert said == []
    assert Job.objects.filter(file__release=release).count() == 1


def test_a_repeated_request_that_took_the_whole_budget_gets_its_release(
    tmp_path: Path, meanwhile: Any
) -> None:
    """A request repeated meanwhile is answered like the first, not refused for want of budget."""
    dataset, job, paid = make_dataset(budget=Fraction(1)), uuid.uuid4(), []
    make_ready(dataset, tmp_path)

    def ask() -> Release:
        return make_request(Dataset.objects.get(pk=dataset.pk), epsilon="1", job_id=job)

    meanwhile(release_services, "release_quote", lambda: paid.append(ask()))
    assert ask() == paid[0]
    assert Entry.objects.count() == 1


def test_a_release_is_not_paid_for_on_data_that_were_just_replaced(
    tmp_path: Path, meanwhile: Any
) -> None:
    dataset = make_dataset()
    former = make_ready(dataset, tmp_path)

    def replace() -> None:
        make_ready(dataset, tmp_path)
        dataset.uploads.filter(pk=former.pk).update(state=UploadState.ERASED, canonical_name="")

    meanwhile(release_services, "release_quote", replace)
    with pytest.raises(Conflict, match="replaced"):
        make_request(dataset)
    assert not Entry.objects.exists()
    assert make_request(dataset).upload == ready_upload(dataset) != former


def test_a_new_dataset_shares_no_budget_whose_unit_has_just_changed(meanwhile: Any) -> None:
    """Sharing is refused, since an epsilon per person and one per record do not add up."""
    first = make_dataset(unit="person")
    meanwhile(
        dataset_services,
        "ledger_lock",
        lambda: dataset_update(dataset=first, changes={"unit": "record"}),
    )
    with pytest.raises(InvalidInput, match="shared"):
        make_dataset(first.organisation, ledger=first.ledger, budget=None, unit="person")
    assert first.ledger.datasets.count() == 1


def test_budgets_are_not_merged_if_a_unit_has_just_changed(meanwhile: Any) -> None:
    first = make_dataset(unit="person")
    second = make_dataset(first.organisation, unit="person")
    meanwhile(
        dataset_budgets,
        "ledger_merge",
        lambda: dataset_update(dataset=second, changes={"unit": "record"}),
    )
    with pytest.raises(InvalidInput, match="shared"):
        dataset_merge_ledgers(dataset=first, ledger=second.ledger, by=None)
    assert not Ledger.objects.exclude(merged_into=None).exists()


def test_a_dataset_that_just_got_a_budget_is_not_moved_to_another() -> None:
    """Two people choose at the same time which budget a dataset shares; the first choice holds."""
    one = make_dataset()
    other = make_dataset(one.organisation)
    without = make_dataset(one.organisation, budget=None, budget_later=True)
    sibling = make_dataset(one.organisation, budget=None, ledger=without.ledger)
    for former in (without, sibling):
        stale = [Dataset.objects.select_related("ledger").get(pk=former.pk) for _ in range(3)]
        dataset_share_budget(dataset=stale[0], ledger=one.ledger)
        with pytest.raises(Conflict, match="changed meanwhile"):
            dataset_share_budget(dataset=stale[1], ledger=other.ledger)
        with pytest.raises(Conflict, match="meanwhile"):
            dataset_merge_ledgers(dataset=stale[2], ledger=other.ledger, by=None)
        former.refresh_from_db()
        assert former.ledger == one.ledger


def test_a_debit_meant_at_a_former_delta_is_refused() -> None:
    """The debit of an epsilon that was computed at a former delta is refused.

    Otherwise the epsilon would be stated with the new delta.
    """
    people = 1_000_000
    former = Accounting(parse_delta("1e-7", people), people)
    ledger = ledger_create(name="people", total=Fraction(4), accounting=former)
    cost = ledger.unit_guarantee(ledger.total_units // 2, Unit.PERSON)
    ledger_set_accounting(
        ledger=Ledger.objects.get(pk=ledger.pk),
        accounting=Accounting(parse_delta("1e-9", people), people),
    )
    with pytest.raises(Conflict, match="meanwhile"):
        budget_debit(ledger=ledger, cost=cost, job=uuid.uuid4(), what="A map", who="ann")
    assert not Entry.objects.exists()


def test_the_day_through_which_data_are_complete_is_never_moved_back(meanwhile: Any) -> None:
    dataset = make_dataset(budget=1000, new_files="append")
    Dataset.objects.filter(pk=dataset.pk).update(columns={"time": "seen"})
    dataset.refresh_from_db()
    series = declare(dataset)
    later = date(2026, 2, 1)

    def other() -> None:
        Series.objects.filter(pk=series.pk).update(complete_through=later)

    # Between this request's check of the day and its storing of that day, the other request stores
    # a later day.
    real = series_module._check_open
    called: list[Series] = []

    def check_open(seen: Series) -> None:
        real(seen)
        if not called:
            other()
        called.append(seen)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(series_module, "_check_open", check_open)
        with pytest.raises(InvalidInput, match="2026-02-01"):
            series_complete(series=series, through="2026-01-25", by=None)
    assert Series.objects.get(pk=series.pk).complete_through == later


@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has one writer at a time.")
@pytest.mark.django_db(transaction=True)
def test_a_budget_for_points_that_was_just_added_is_locked_with_that_for_counts() -> None:
    """Locking a budget for counts also locks a budget for points that was added meanwhile.

    Otherwise a merger at the same moment would lose what is paid from the budget for points.
    """
    counts = ledger_create(name="people", total=Fraction(4))

    def lock() -> set[int]:
        try:
            with transaction.atomic():
                return ledgers_lock(counts.pk)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            ledger_create_for_points(beside=counts, total=make_level("ln 4", 200))
            locked = pool.submit(lock)
            wait_until_one_waits()
        points = points_ledger(Ledger.objects.get(pk=counts.pk))
        assert points is not None
        assert locked.result(timeout=60) == {counts.pk, points.pk}


def wait_until_one_waits() -> None:
    """Wait until another connection waits for a lock in this database."""
    deadline = time.monotonic() + 60
    waiting = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    with connection.cursor() as cursor:
        while True:
            cursor.execute("SELECT pg_stat_clear_snapshot()")
            cursor.execute(waiting)
            if cursor.fetchone()[0]:
                return
            assert time.monotonic() < deadline
            time.sleep(0.05)
