"""Mergers of ledgers about the same people: they are final, and later debits follow them."""

from __future__ import annotations

import uuid
from fractions import Fraction
from pathlib import Path

import pytest
from django.db import DatabaseError, transaction
from django.db.models import Sum
from django.utils import timezone

from dpgeo.accounts.models import ApiKey, Role
from dpgeo.budgets.merging import ledger_merge
from dpgeo.budgets.models import Entry, EntryKind, Ledger
from dpgeo.budgets.selectors import (
    current_ledger,
    debited_units,
    ledger_entries,
    left_units,
    points_ledger,
)
from dpgeo.budgets.services import (
    budget_debit,
    budget_debit_found,
    budget_refund,
    ledger_create,
    ledger_create_for_points,
    ledger_promise,
    ledger_recovering,
    ledger_set_total,
)
from dpgeo.core.errors import BudgetExceeded, Conflict, InvalidInput, NotAllowed
from dpgeo.core.guarantees import GeoInd, Notion, PureDP, Unit
from dpgeo.core.levels import make_level
from dpgeo.datasets.dataset_budgets import dataset_merge_ledgers
from dpgeo.datasets.models import Dataset
from dpgeo.datasets.services import dataset_create
from dpgeo.releases.reconciliation import releases_sweep
from tests.makers import (
    AREA,
    make_dataset,
    make_organisation,
    make_ready,
    make_release,
    make_request,
    make_user,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_storages")]


def make_ledger(total: int, spent: str = "0") -> Ledger:
    ledger = ledger_create(name=f"people of {total}", total=Fraction(total))
    if Fraction(spent):
        debit(ledger, spent)
    ledger.refresh_from_db()
    return ledger


def debit(ledger: Ledger, epsilon: str, job: uuid.UUID | None = None) -> Entry:
    cost = PureDP(Fraction(epsilon), Unit.PERSON)
    return budget_debit(ledger=ledger, job=job or uuid.uuid4(), cost=cost, what="A map", who="ann")


def assert_sums(*ledgers: Ledger) -> None:
    for ledger in ledgers:
        ledger.refresh_from_db()
        summed = ledger.entries.aggregate(sum=Sum("units", default=0))["sum"]
        assert ledger.spent_units == summed


def test_a_merger_adds_up_what_was_spent_and_keeps_the_smaller_total() -> None:
    ledger, into = make_ledger(2, "1.5"), make_ledger(4, "1.75")
    promised = timezone.now()
    Ledger.objects.filter(pk=ledger.pk).update(promised_at=promised)
    merged = ledger_merge(ledger=ledger, into=into, who="ann")
    assert (merged.total_units, merged.spent_units, merged.left_units) == (2_000_000, 3_250_000, 0)
    # Of the totals 2 and 4, the smaller would apply, but more was spent already: 3.25.
    assert merged.total == Fraction(13, 4)
    assert merged.promised_at == promised
    assert_sums(ledger, into)
    assert ledger_entries(merged).aggregate(sum=Sum("units"))["sum"] == merged.spent_units
    assert set(ledger_entries(merged).values_list("kind", flat=True)) == {"debit", "merger"}
    with pytest.raises(BudgetExceeded, match=r"3\.25 is spent"):
        debit(into, "0.1")


@pytest.mark.parametrize("undecided", ["source", "target"])
def test_a_total_that_nobody_has_set_yet_limits_nothing(undecided: str) -> None:
    funded, empty = make_ledger(2, "0.5"), ledger_create(name="later", total=None)
    ledger, into = (empty, funded) if undecided == "source" else (funded, empty)
    merged = ledger_merge(ledger=ledger, into=into, who="ann")
    assert (merged.total_units, merged.spent_units) == (2_000_000, 500_000)


def test_a_merger_within_the_smaller_total_leaves_the_rest() -> None:
    ledger, into = make_ledger(4, "0.5"), make_ledger(3, "1")
    merged = ledger_merge(ledger=ledger, into=into, who="ann")
    assert (merged.lifetime_units, merged.left_units) == (3_000_000, 1_500_000)
    debit(merged, "1.5")
    assert_sums(ledger, into)


def test_debits_and_refunds_of_a_merged_ledger_reach_the_one_that_continues_it() -> None:
    ledger, between, into = make_ledger(4), make_ledger(4), make_ledger(4)
    before, after = uuid.uuid4(), uuid.uuid4()
    debit(ledger, "1", before)
    ledger_merge(ledger=ledger, into=between, who="ann")
    ledger_merge(ledger=between, into=into, who="ann")
    # This release was requested before the merger, and is paid for afterwards.
    entry = debit(ledger, "0.5", after)
    assert entry.ledger_id == into.pk
    assert budget_refund(job=before) is not None
    assert budget_refund(job=before) is None
    assert_sums(ledger, between, into)
    assert into.spent == Fraction(1, 2)
    assert ledger_entries(into).aggregate(sum=Sum("units"))["sum"] == into.spent_units


def test_a_refund_after_a_merger_does_not_lower_the_lifetime_figure() -> None:
    ledger, into, job = make_ledger(2), make_ledger(2, "2"), uuid.uuid4()
    debit(ledger, "1", job)
    ledger_merge(ledger=ledger, into=into, who="ann")
    budget_refund(job=job)
    into.refresh_from_db()
    assert (into.spent_units, into.lifetime_units) == (2_000_000, 3_000_000)


@pytest.mark.parametrize("refunded_first", [True, False])
def test_refunds_before_a_merger_show_neither_to_keys_nor_to_the_public(
    refunded_first: bool,
) -> None:
    ledgers = [make_ledger(3), make_ledger(3), make_ledger(3)]
    jobs = [uuid.uuid4() for _ in ledgers]
    for ledger, job in zip(ledgers, jobs, strict=True):
        debit(ledger, "2", job)
        if refunded_first:
            budget_refund(job=job)
    first, second, into = ledgers
    for ledger in ledgers:
        ledger.refresh_from_db()
    ledger_merge(ledger=first, into=second, who="ann")
    merged = ledger_merge(ledger=second, into=into, who="ann")
    assert (debited_units(merged), merged.lifetime_units) == (6_000_000, 6_000_000)
    assert left_units(merged, refunds=False) == 0
    for job in jobs:
        budget_refund(job=job)
    merged.refresh_from_db()
    assert (merged.spent_units, debited_units(merged)) == (0, 6_000_000)
    assert_sums(*ledgers)


def test_a_merger_during_a_keys_request_shows_no_refunds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key does not see refunds if the ledger is merged during the key's request.

    The merger happens after the query for the ledger and before the lock, which PostgreSQL allows.
    """
    make_ready(dataset := make_dataset(), tmp_path)
    into = make_dataset(dataset.organisation).ledger
    debit(into, "3.5", job := uuid.uuid4())
    budget_refund(job=job)
    key = make_user(dataset.organisation, Role.ADMINISTRATOR)
    key.acting_key = ApiKey(
        organisation=dataset.organisation, name="sync", scopes=["releases:request"]
    )
    mergers: list[Ledger] = []

    def merged_meanwhile(ledger: Ledger) -> Ledger:
        current = current_ledger(ledger)
        if not mergers:
            mergers.append(ledger_merge(ledger=ledger, into=into, who="ann"))
        return current

    for module in ("dpgeo.budgets.merging", "dpgeo.releases.services"):
        monkeypatch.setattr(f"{module}.current_ledger", merged_meanwhile, raising=False)
    with pytest.raises(BudgetExceeded):
        make_request(dataset, by=key)
    assert mergers
    into.refresh_from_db()
    assert into.spent_units == 0


def test_a_merger_is_never_undone_or_repeated_and_no_total_rises_after_it() -> None:
    ledger, into = make_ledger(2), make_ledger(4)
    ledger_merge(ledger=ledger, into=into, who="ann")
    for pair in ((ledger, into), (into, ledger), (into, into)):
        with pytest.raises(Conflict):
            ledger_merge(ledger=pair[0], into=pair[1], who="ann")
    into.refresh_from_db()
    with pytest.raises(Conflict):
        ledger_set_total(ledger=into, total=Fraction(3))
    ledger_set_total(ledger=into, total=Fraction(2))
    ledger_set_total(ledger=into, total=Fraction(1))


def test_the_database_itself_refuses_to_spend_on_a_merged_ledger() -> None:
    ledger = make_ledger(2)
    ledger_merge(ledger=ledger, into=make_ledger(2), who="ann")
    with pytest.raises(DatabaseError), transaction.atomic():
        Ledger.objects.filter(pk=ledger.pk).update(spent_units=1)


def test_a_publication_states_no_less_than_the_lifetime_figure() -> None:
    ledger, into = make_ledger(2, "2"), make_ledger(2, "1")
    ledger_merge(ledger=ledger, into=into, who="ann")
    with pytest.raises(Conflict):
        ledger_promise(ledger=into, total_units=2_000_000)
    ledger_promise(ledger=into, total_units=3_000_000)


def test_budgets_for_points_are_merged_with_each_other_and_never_with_those_for_counts() -> None:
    ledger, into = make_ledger(4, "1"), make_ledger(4)
    first = ledger_create_for_points(beside=ledger, total=make_level("ln(16)", 200))
    second = ledger_create_for_points(beside=into, total=make_level("ln(4)", 200))
    cost = GeoInd(second.total_units, Unit.PERSON)
    for points in (first, second):
        budget_debit(ledger=points, job=uuid.uuid4(), cost=cost, what="Points", who="ann")
    ledger_merge(ledger=ledger, into=into, who="ann")
    assert_sums(ledger, into, first, second)
    assert (into.spent_units, second.total_units) == (1_000_000, second.total_units)
    assert second.spent_units == second.lifetime_units == 2 * second.total_units
    assert points_ledger(into) == second
    assert ledger_entries(into).count() == 7


def test_a_budget_for_points_moves_to_the_ledger_that_has_none() -> None:
    ledger, into = make_ledger(4), make_ledger(4)
    points = ledger_create_for_points(beside=ledger, total=make_level("ln(16)", 200))
    ledger_merge(ledger=ledger, into=into, who="ann")
    assert points_ledger(into) == points


def level(text: str) -> GeoInd:
    return GeoInd(make_level(text, 200).pico, Unit.PERSON)


def merge_a_promised_ledger(points_side: str, promised: str) -> tuple[Ledger, Ledger, uuid.UUID]:
    """Merge two ledgers, one of which has paid for points.

    Returns the merged ledger, its ledger for points, and the job that was paid for.
    """
    ledger, into = make_ledger(4), make_ledger(4)
    sides = {"ledger": ledger, "into": into}
    points = ledger_create_for_points(beside=sides[points_side], total=make_level("ln(16)", 200))
    job = uuid.uuid4()
    budget_debit(ledger=points, job=job, cost=level("ln(4)"), what="Points", who="ann")
    for name, side in sides.items():
        if promised in (name, "both"):
            ledger_promise(ledger=side, total_units=4_000_000)
    merged = ledger_merge(ledger=ledger, into=into, who="ann")
    points.refresh_from_db()
    return merged, points, job


@pytest.mark.parametrize("promised", ["other", "both"])
@pytest.mark.parametrize(("points_side", "other"), [("ledger", "into"), ("into", "ledger")])
def test_people_who_were_promised_no_points_get_no_budget_for_them(
    points_side: str, other: str, promised: str
) -> None:
    promised = other if promised == "other" else promised
    merged, points, job = merge_a_promised_ledger(points_side, promised)
    cost = level("ln(4)")
    drawn = make_level("ln(4)", 200).pico
    assert points_ledger(merged) == points
    assert (points.spent_units, points.lifetime_units, points.left_units) == (drawn, drawn, 0)
    with pytest.raises(Conflict):
        ledger_set_total(ledger=points, total=make_level("ln(16)", 200))
    budget_refund(job=job)  # The refund does not allow further releases of points.
    for amount in (cost, level("0.000001")):
        with pytest.raises(BudgetExceeded):
            budget_debit(ledger=points, job=uuid.uuid4(), cost=amount, what="Points", who="ann")
    points.refresh_from_db()
    assert points.lifetime_units == drawn


@pytest.mark.parametrize("points_side", [0, 1])
@pytest.mark.parametrize("both", [False, True])
def test_an_unused_budget_for_points_is_not_merged_with_a_promise_of_none(
    points_side: int, both: bool
) -> None:
    pair = [make_ledger(4, "1"), make_ledger(4, "1")]
    points = ledger_create_for_points(beside=pair[points_side], total=make_level("ln(16)", 200))
    for ledger in pair if both else [pair[1 - points_side]]:
        ledger_promise(ledger=ledger, total_units=4_000_000)
    with pytest.raises(Conflict, match="without a budget for points"):
        ledger_merge(ledger=pair[0], into=pair[1], who="ann")
    assert_sums(*pair)
    points.refresh_from_db()
    assert (points.beside, points.total) == (pair[points_side], level("ln(16)").epsilon)
    assert not Entry.objects.filter(kind=EntryKind.MERGER).exists()


def test_a_promise_of_the_side_with_the_points_leaves_their_budget_open() -> None:
    merged, points, _ = merge_a_promised_ledger("ledger", "ledger")
    assert (points_ledger(merged), points.total) == (points, level("ln(16)").epsilon)


def test_budgets_for_points_with_different_radii_are_not_merged() -> None:
    ledger, into = make_ledger(4, "1"), make_ledger(4)
    ledger_create_for_points(beside=ledger, total=make_level("ln(16)", 200))
    ledger_create_for_points(beside=into, total=make_level("ln(16)", 100))
    with pytest.raises(Conflict, match="200 m and 100 m"):
        ledger_merge(ledger=ledger, into=into, who="ann")
    assert_sums(ledger, into)
    assert not Entry.objects.filter(kind=EntryKind.MERGER).exists()


def test_datasets_follow_their_ledger_and_waiting_releases_are_paid(tmp_path: Path) -> None:
    first = make_dataset()
    second = make_dataset(first.organisation)
    make_ready(second, tmp_path)
    waiting = make_request(second)
    merged = dataset_merge_ledgers(dataset=first, ledger=second.ledger, by=None)
    second.refresh_from_db()
    assert second.ledger == merged == first.ledger
    assert merged.spent_units == waiting.cost_units
    third = Dataset.objects.get(pk=make_dataset(first.organisation).pk)
    former = third.ledger
    dataset_merge_ledgers(dataset=first, ledger=former, by=None)
    late = dataset_create(
        organisation=first.organisation,
        title="Declared by a form that was open during the merger",
        licence="CC0 1.0",
        unit="person",
        study_area=AREA,
        time_zone="UTC",
        budget=None,
        ledger=former,
        created_by=None,
    )
    assert late.ledger == merged


def test_only_administrators_merge_and_only_ledgers_of_their_organisation() -> None:
    dataset = make_dataset()
    other = make_dataset(dataset.organisation)
    foreign = make_dataset(make_organisation())
    approver = make_user(dataset.organisation, Role.APPROVER)
    owner = make_user(dataset.organisation, Role.ADMINISTRATOR)
    by_key = make_user(dataset.organisation, Role.ADMINISTRATOR)
    by_key.acting_key = ApiKey(organisation=dataset.organisation, name="sync")
    for by, ledger in ((approver, other), (by_key, other), (owner, foreign)):
        with pytest.raises(NotAllowed):
            dataset_merge_ledgers(dataset=dataset, ledger=ledger.ledger, by=by)
    records = make_dataset(dataset.organisation, unit="record")
    with pytest.raises(InvalidInput, match="do not add up"):
        dataset_merge_ledgers(dataset=dataset, ledger=records.ledger, by=owner)
    dataset_merge_ledgers(dataset=dataset, ledger=other.ledger, by=owner)


def test_the_total_of_recovered_points_is_what_was_found_and_makes_no_room() -> None:
    """The total of a ledger for points found after a restore is what they cost, so it pays no more.

    This holds even after a merger, by which it may become the budget for points of people who had
    none.
    """
    lost = ledger_recovering(
        slug="lost", title="Lost", publisher="city", notion=Notion.GEO_IND, radius=200
    )
    cost = level("ln(4)")
    drawn = make_level("ln(4)", 200).pico
    for number in (1, 2):
        budget_debit_found(ledger=lost, job=uuid.uuid4(), cost=cost, what="Points", radius=200)
        lost.refresh_from_db()
        assert (lost.spent_units, lost.total_units) == (number * drawn, number * drawn)
    assert lost.beside is not None
    merged = ledger_merge(ledger=lost.beside, into=make_ledger(4), who="ann")
    assert points_ledger(merged) == lost
    with pytest.raises(BudgetExceeded):
        budget_debit(ledger=lost, job=uuid.uuid4(), cost=cost, what="Points", who="ann")


def test_a_draw_of_an_unknown_dataset_is_debited_to_a_recovery_ledger(tmp_path: Path) -> None:
    releases_sweep()  # this sweep debits draws that other tests have left in the storage
    make_ready(dataset := make_dataset(), tmp_path)
    release = make_release(dataset)
    slug, publisher = dataset.slug, dataset.organisation.name
    Dataset.objects.filter(pk=dataset.pk).update(slug="declared-anew")
    release.files.all().delete()
    release.delete()
    Entry.objects.filter(job=release.job_id)._raw_delete("default")
    assert releases_sweep().debited == 1
    assert releases_sweep().debited == 0
    ledger = Ledger.objects.get(recovers=slug)
    assert (ledger.spent_units, ledger.recovers_for) == (release.cost_units, publisher)
    assert (ledger.total_units, ledger.lifetime_units) == (release.cost_units, release.cost_units)
    assert_sums(ledger)
    with pytest.raises(BudgetExceeded):
        budget_debit(ledger=ledger, job=uuid.uuid4(), cost=release.cost, what="More", who="ann")
    Ledger.objects.filter(pk=dataset.ledger_id).update(spent_units=0)
    dataset.refresh_from_db()
    total = dataset.ledger.total_units
    merged = dataset_merge_ledgers(dataset=dataset, ledger=ledger, by=None)
    assert (merged.total_units, merged.spent_units) == (total, release.cost_units)
