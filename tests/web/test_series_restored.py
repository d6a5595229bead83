"""Series whose database was restored from a backup, while later draws are still stored."""

from __future__ import annotations

import os

import pytest
from django.utils import timezone

from dpgeo.budgets.models import Entry, Ledger
from dpgeo.commands import restoration
from dpgeo.core.errors import Conflict
from dpgeo.datasets.orphan_files import stored_names
from dpgeo.datasets.storage import private_storage
from dpgeo.jobs.models import Job
from dpgeo.releases import private_draw
from dpgeo.releases.models import Series
from dpgeo.releases.reconciliation import draws_settle, releases_sweep
from dpgeo.releases.series import series_draw_due, series_end, series_resume
from dpgeo.releases.services import release_run
from tests.makers import make_dataset
from tests.web.test_series import add, complete, declare, draw_all, week

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_storages")]


def forget(series: Series) -> None:
    """Delete the database's rows about the only map of a series, but not the map's stored draw.

    This is the state after restoring a backup of the database made before the map was drawn.
    """
    for release in series.releases.all():
        release.files.all().delete()
        release.delete()
    Job.objects.filter(pk=series.job_id(1)).delete()
    Series.objects.filter(pk=series.pk).update(drawn=0, state_name="")
    series.refresh_from_db()


def forget_debits() -> None:
    Entry.objects.all()._raw_delete("default")
    Ledger.objects.update(spent_units=0)


@pytest.mark.parametrize("protection", ["person", "one"])
def test_a_map_that_the_database_forgot_is_not_drawn_from_other_data(protection: str) -> None:
    """A map that the database forgot is not drawn again from other data.

    The map drawn before the restore may be public, so a second draw would exceed the total.
    """
    dataset = make_dataset(budget=1, new_files="append")
    add(dataset, week(1, range(10)))
    series = declare(dataset, protection=protection, epsilon="1")
    complete(series, 1)
    [release] = draw_all(series)
    old = release.blob_name
    forget(series)
    if protection == "one":
        forget_debits()
    draws_settle()
    # The dataset now has other rows than those from which the forgotten map was drawn.
    add(dataset, week(2, range(10)))
    again = draw_all(series)
    assert not [each for each in again if each.blob_name not in ("", old)]
    assert series.ending == "restored"
    assert not series_draw_due()


def test_a_map_that_was_debited_again_is_found_and_not_paid_twice() -> None:
    dataset = make_dataset(budget=10, new_files="append")
    add(dataset, week(1, range(10)))
    series = declare(dataset, protection="one", epsilon="1")
    complete(series, 1)
    [release] = draw_all(series)
    forget(series)
    forget_debits()
    releases_sweep()
    [again] = draw_all(series)
    assert again.blob_name == release.blob_name
    dataset.ledger.refresh_from_db()
    assert dataset.ledger.spent_units == 1_000_000


@pytest.mark.parametrize("ended", [True, False])
def test_a_failed_series_is_not_resumed_after_any_restore(
    ended: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failed series is not resumed after any restore.

    It may have been resumed after the backup, and noise may have been drawn that was lost.
    """
    dataset = make_dataset(budget=10, new_files="append")
    add(dataset, week(1, range(10)))
    series = declare(dataset, epsilon="1")
    complete(series, 1)

    def break_off(*_: object) -> None:
        raise Conflict("The files cannot be read.")

    monkeypatch.setattr(private_draw, "_counted_rows", break_off)
    series_draw_due()
    release_run(release_id=series.releases.get().pk)
    if ended:
        series_draw_due()
    restoration._settle(restoration.Restored(), timezone.now(), draws_complete=True)
    series_draw_due()
    series.refresh_from_db()
    assert series.ending == ("restored" if ended else "failed")
    with pytest.raises(Conflict):
        series_resume(series=series, by=None)


def test_the_state_of_an_ended_series_is_deleted() -> None:
    """The state of an ended series, which contains the hashes of all people, is deleted."""
    dataset = make_dataset(budget=10, new_files="append")
    add(dataset, week(1, range(10)))
    ended, going_on = declare(dataset, epsilon="1"), declare(dataset, epsilon="1")
    for series in (ended, going_on):
        complete(series, 1)
        draw_all(series)
        os.utime(private_storage().path(series.state_name), (0, 0))
    series_end(series=ended, by=None)
    releases_sweep()
    assert list(stored_names(private_storage(), "series")) == [going_on.state_name]
    releases_sweep()
    dataset.ledger.refresh_from_db()
    assert dataset.ledger.spent_units == 2_000_000
