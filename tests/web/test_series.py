"""Series: a map for every period, drawn in order, each once, paid for once."""

from __future__ import annotations

import io
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.core.files.base import ContentFile
from django.core.management import call_command
from django.db.models import F, QuerySet
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from dpgeo.artefacts.statement import statement
from dpgeo.budgets.models import Entry, EntryKind, Ledger
from dpgeo.budgets.services import PURE, Accounting
from dpgeo.core.errors import BudgetExceeded, Conflict, InvalidInput
from dpgeo.core.guarantees import Notion, units_in
from dpgeo.core.noise import DiscreteGaussian
from dpgeo.core.released import FlowsRelease, GridRelease
from dpgeo.core.series_request import SeriesRequest
from dpgeo.core.zcdp import nano_rho_for
from dpgeo.datasets.erasure import person_erase, person_readmit
from dpgeo.datasets.ingest_job import upload_ingest
from dpgeo.datasets.layers import public_layer_remove
from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.orphan_files import stored_names
from dpgeo.datasets.storage import private_storage
from dpgeo.datasets.uploads import upload_confirm
from dpgeo.ingest.schema import Columns
from dpgeo.jobs.models import Job, JobState
from dpgeo.releases import private_draw, release_job, series_state
from dpgeo.releases.blobs import commit_blob, new_blob_name
from dpgeo.releases.models import Release, Series
from dpgeo.releases.reconciliation import releases_sweep
from dpgeo.releases.selectors import load_released
from dpgeo.releases.series import (
    due_periods,
    local_today,
    series_complete,
    series_declare,
    series_draw_due,
    series_end,
    series_end_all,
    series_read,
    series_request_period,
    series_resume,
    series_seen,
    series_terms,
)
from dpgeo.releases.series_state import states_sweep
from dpgeo.releases.services import release_cancel, release_publish, release_run
from tests.hostile import THOROUGH
from tests.makers import make_dataset, make_received, spent
from tests.web.test_layers import STOPS
from tests.web.test_layers import add as add_wards

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_storages")]

COLUMNS = Columns(longitude="lon", latitude="lat", person="who", time="seen")

FIRST = date(2026, 1, 5)
"""A Monday."""

EXACT = "400"
"""An epsilon so large that a cell's noise is 0, except with a probability below e^-30."""


@pytest.fixture
def dataset() -> Dataset:
    return make_dataset(budget=1000, new_files="append")


def week(number: int, people: range, places: int = 1) -> bytes:
    """Return a CSV with rows of `people` at noon of Wednesday in week `number`, counted from 1."""
    day = FIRST + timedelta(weeks=number - 1, days=2)
    lines = [
        f"p{who},{50.005 + 0.01 * place},{10.005 + 0.01 * (who % 10)},{day}T12:00:00Z"
        for who in people
        for place in range(places)
    ]
    return "\n".join(["who,lat,lon,seen", *lines, ""]).encode()


def add(dataset: Dataset, content: bytes) -> Upload:
    upload = upload_confirm(upload=make_received(dataset, content), columns=COLUMNS)
    assert upload_ingest(upload_id=upload.pk)
    upload.refresh_from_db()
    assert upload.state == UploadState.READY, upload.job and upload.job.failure
    dataset.refresh_from_db()
    return upload


def asked(**changes: Any) -> SeriesRequest:
    """Return the declaration of a weekly series, with changes."""
    usual: dict[str, Any] = {
        "period": "week",
        "protection": "person",
        "each": 2,
        "most": 5,
        "epsilon": EXACT,
        "mechanism": "uniform-grid",
        "parameters": {"cells": 16},
        "counting": "people",
        "title": "Weekly visits",
        "first_day": FIRST.isoformat(),
        "publish_when_done": False,
        "all_files": False,
    }
    return SeriesRequest.read(usual | changes)


def declare(dataset: Dataset, **changes: Any) -> Series:
    return series_declare(dataset=dataset, asked=asked(**changes), by=None)


def complete(series: Series, weeks: int) -> None:
    last = series.window(weeks).last
    series_complete(series=series, through=last.isoformat(), by=None)


def draw_all(series: Series) -> list[Release]:
    """Draw all due maps, as the reaper and a worker would, and return the releases."""
    for _ in range(300):
        if not series_draw_due():
            break
        for release in Release.objects.filter(series=series, blob_name=""):
            release_run(release_id=release.pk)
    series.refresh_from_db()
    return list(series.releases.order_by("number"))


def counted(release: Release) -> int:
    content = load_released(release).content
    assert isinstance(content, GridRelease)
    return int(content.counts.sum())


def used(series: Series) -> list[int]:
    with private_storage().open(series.state_name, "rb") as file:
        return sorted(row["used"] for row in pq.read_table(file).to_pylist())


def test_a_series_draws_a_map_for_each_week_and_fades_at_the_allowance(dataset: Dataset) -> None:
    add(dataset, week(1, range(20), places=3))
    series = declare(dataset)
    for number in (2, 3, 4):
        add(dataset, week(number, range(20), places=3))
    complete(series, 4)
    releases = draw_all(series)
    assert [release.number for release in releases] == [1, 2, 3, 4]
    assert [counted(release) for release in releases] == [40, 40, 20, 0]
    assert used(series) == [5] * 20
    assert [release.request.window.first for release in releases] == [
        FIRST + timedelta(weeks=number) for number in range(4)
    ]
    assert releases[1].title == "Weekly visits, 2026-01-12 to 2026-01-18"
    assert {bytes(release.salt) for release in releases} == {bytes(series.salt)}
    assert {release.bound for release in releases} == {5}
    noise = [load_released(release).content.noise for release in releases]  # type: ignore[attr-defined]
    assert {each.sensitivity for each in noise} == {5}


def test_only_the_newest_state_is_kept_and_no_sweep_takes_it(dataset: Dataset) -> None:
    for number in (1, 2, 3):
        add(dataset, week(number, range(5)))
    series = declare(dataset)
    complete(series, 3)
    draw_all(series)
    assert set(stored_names(private_storage(), series_state.FOLDER)) >= {series.state_name}
    releases_sweep()
    assert private_storage().exists(series.state_name)
    assert used(series) == [3] * 5


PERIODS = 100 if THOROUGH else 10


def test_further_periods_leave_the_ledger_unchanged(dataset: Dataset) -> None:
    add(dataset, week(1, range(5)))
    series = declare(dataset, period="day", epsilon="1.5")
    dataset.ledger.refresh_from_db()
    assert dataset.ledger.spent_units == 1_500_000
    series_complete(
        series=series, through=(FIRST + timedelta(days=PERIODS - 1)).isoformat(), by=None
    )
    releases = draw_all(series)
    assert len(releases) == PERIODS
    dataset.ledger.refresh_from_db()
    assert dataset.ledger.spent_units == 1_500_000
    assert Entry.objects.filter(kind=EntryKind.DEBIT).count() == 1
    releases_sweep()  # The sweep must not debit any map a second time.
    dataset.ledger.refresh_from_db()
    assert dataset.ledger.spent_units == 1_500_000
    last = release_publish(release=releases[-1], by=None)
    assert last.rules.public


def test_the_calendar_and_the_owner_close_periods_and_rows_never(dataset: Dataset) -> None:
    add(dataset, week(1, range(5)))
    add(dataset, week(9, range(5)))  # rows of week 9 do not mean that earlier weeks are over
    series = declare(dataset)
    assert series_draw_due() == 0
    with pytest.raises(InvalidInput, match="not over yet"):
        series_complete(series=series, through=local_today(dataset).isoformat(), by=None)
    series_complete(
        series=series, through=(series.window(3).last - timedelta(days=1)).isoformat(), by=None
    )
    assert [each.first for each in due_periods(series)] == [FIRST, FIRST + timedelta(weeks=1)]
    releases = draw_all(series)
    assert [counted(release) for release in releases] == [5, 0]  # an empty week is drawn, too
    with pytest.raises(InvalidInput, match="said before"):
        series_complete(series=series, through=FIRST.isoformat(), by=None)


def accepted(upload: Upload) -> int:
    """Return how many rows of a file were accepted."""
    assert upload.report
    return int(upload.report["accepted"])


def test_rows_of_closed_periods_are_refused_by_name(dataset: Dataset) -> None:
    add(dataset, week(1, range(10)))
    series = declare(dataset)
    complete(series, 2)  # further rows of week 2 are now refused, though its map is not drawn yet
    late = b"p0,50.005,10.005,2026-01-18T22:59:59Z\np0,50.005,10.005,2026-01-18T23:00:00Z\n"
    # In Berlin's time, the second of the late rows is on Monday, so in the next week.
    upload = add(dataset, week(2, range(3)) + late)
    assert upload.report
    assert upload.report["refused"] == {
        "the time is in a period of a series whose data were said to be complete": 4
    }
    assert accepted(upload) == 1
    assert [counted(each) for each in draw_all(series)] == [10, 0]
    series_end(series=series, by=None)
    assert accepted(add(dataset, week(2, range(4)))) == 4


def test_files_that_replace_the_data_repeat_the_rows_of_closed_periods() -> None:
    dataset = make_dataset(budget=1000)
    add(dataset, week(1, range(10)))
    complete(declare(dataset), 1)
    assert accepted(add(dataset, week(1, range(10)))) == 10


def test_a_period_waits_for_the_one_before(dataset: Dataset) -> None:
    for number in (1, 2):
        add(dataset, week(number, range(5)))
    series = declare(dataset)
    complete(series, 2)
    assert series_draw_due() == 1
    assert series_draw_due() == 0  # the draw of the first map is not committed yet
    assert series_request_period(series, 2) is None
    assert series_request_period(series, 1) is None  # the first map has been requested already
    assert Release.objects.filter(series=series).count() == 1


def test_erased_and_readmitted_people_get_no_second_allowance(
    dataset: Dataset, django_capture_on_commit_callbacks: Any
) -> None:
    add(dataset, week(1, range(10)))
    series = declare(dataset, each=1, most=2)
    complete(series, 1)
    draw_all(series)
    with django_capture_on_commit_callbacks(execute=True):
        version = person_erase(dataset=dataset, person="p3", by=None)
        assert upload_ingest(upload_id=version.pk)
    add(dataset, week(2, range(10)))
    complete(series, 2)
    assert counted(draw_all(series)[1]) == 9
    assert used(series) == [2] * 10
    person_readmit(dataset=dataset, person="p3", by=None)
    add(dataset, week(3, range(12)))
    complete(series, 3)
    # Only the two people without a row in an earlier week are counted; all others have used up what
    # they may contribute.
    assert counted(draw_all(series)[2]) == 2


def test_a_draw_of_a_killed_worker_is_used_with_its_state(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (1, 2):
        add(dataset, week(number, range(10)))
    series = declare(dataset)
    complete(series, 2)
    series_draw_due()
    release = Release.objects.get(series=series)

    class Killed(BaseException):
        pass

    def die(*_: object, **__: object) -> bool:
        raise Killed

    monkeypatch.setattr(release_job, "commit_blob", die)
    with pytest.raises(Killed):
        release_run(release_id=release.pk)
    monkeypatch.undo()
    [blob] = stored_names(private_storage(), "blobs")
    Job.objects.filter(pk=release.job_id).update(
        state=JobState.QUEUED, lease=None, lease_until=None
    )
    assert release_run(release_id=release.pk)
    release.refresh_from_db()
    series.refresh_from_db()
    assert release.blob_name == blob
    assert (series.drawn, used(series)) == (1, [1] * 10)
    assert [counted(each) for each in draw_all(series)] == [10, 10]


@pytest.mark.parametrize("step", ["keep", "store", "commit", "advance"])
def test_a_kill_at_any_step_neither_loses_nor_doubles_contributions(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    add(dataset, week(1, range(10), places=3))
    add(dataset, week(2, range(10), places=3))
    series = declare(dataset)
    complete(series, 2)
    series_draw_due()
    release = Release.objects.get(series=series)

    class Killed(BaseException):
        pass

    places = {
        "keep": (series_state, "_keep"),
        "store": (release_job, "store_draw"),
        "commit": (release_job, "commit_blob"),
        "advance": (Series.objects, "filter"),
    }
    owner, name = places[step]

    def die(*_: object, **__: object) -> Any:
        raise Killed

    monkeypatch.setattr(owner, name, die)
    with pytest.raises(Killed):
        release_run(release_id=release.pk)
    monkeypatch.undo()
    series.refresh_from_db()
    assert (series.drawn, series.state_name) == (0, "")
    Job.objects.filter(pk=release.job_id).update(
        state=JobState.QUEUED, lease=None, lease_until=None
    )
    assert release_run(release_id=release.pk)
    assert [counted(each) for each in draw_all(series)] == [20, 20]
    assert used(series) == [4] * 10


def test_a_forgotten_draw_is_found_again_and_not_drawn_twice(dataset: Dataset) -> None:
    """A draw that the database has forgotten is found again, and nothing is drawn twice.

    The release's row is missing and the series is set back by one period, as after a restore of the
    database alone.
    """
    add(dataset, week(1, range(10)))
    series = declare(dataset, epsilon="0.5")
    complete(series, 1)
    [release] = draw_all(series)
    drawn = load_released(release).content.counts  # type: ignore[attr-defined]
    blob = release.blob_name
    release.files.all().delete()
    release.delete()
    Job.objects.filter(pk=series.job_id(1)).delete()
    Series.objects.filter(pk=series.pk).update(drawn=0, state_name="")
    releases_sweep()  # Nothing is debited, because the series' own debit pays for the draw.
    dataset.ledger.refresh_from_db()
    assert dataset.ledger.spent_units == 500_000
    [again] = draw_all(series)
    assert again.blob_name == blob
    assert (load_released(again).content.counts == drawn).all()  # type: ignore[attr-defined]
    assert used(series) == [1] * 10


def test_a_series_without_its_state_ends(dataset: Dataset) -> None:
    for number in (1, 2):
        add(dataset, week(number, range(10)))
    series = declare(dataset)
    complete(series, 1)
    draw_all(series)
    private_storage().delete(series.state_name)
    complete(series, 2)
    releases = draw_all(series)
    assert releases[1].job.state == JobState.FAILED
    assert not releases[1].blob_name
    series_draw_due()
    series.refresh_from_db()
    assert (series.drawn, series.ending) == (1, "failed")
    with pytest.raises(Conflict, match="cannot go on"):
        series_resume(series=series, by=None)
    assert series_draw_due() == 0


def test_a_series_goes_on_after_a_failure_before_noise_was_drawn(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    for number in (1, 2, 3):
        add(dataset, week(number, range(10), places=3))
    series = declare(dataset)
    complete(series, 1)
    draw_all(series)
    complete(series, 3)

    def break_off(*_: object) -> Path:
        raise Conflict("The files cannot be read.")

    with monkeypatch.context() as broken:
        broken.setattr(private_draw, "_counted_rows", break_off)
        assert len(draw_all(series)) == 2
    assert series.ending == "failed"
    states_sweep([])  # The sweep must keep the private state, since the series may be resumed.
    call_command("series", "resume", str(series.pk))
    assert "1 drawn, 2 due" in capsys.readouterr().out
    release_run(release_id=series.releases.get(number=2).pk)
    assert [counted(each) for each in draw_all(series)] == [20, 20, 10]
    dataset.ledger.refresh_from_db()
    assert dataset.ledger.spent_units == 400_000_000
    with pytest.raises(Conflict, match="cannot go on"):
        series_resume(series=series, by=None)


def test_a_failed_series_does_not_go_on_after_a_restore_that_forgets_draws(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failed series does not go on after a restore that forgets draws.

    The series may have been resumed after the backup, and the map then drawn may have been
    published.
    """
    add(dataset, week(1, range(10)))
    series = declare(dataset)
    complete(series, 1)

    def break_off(*_: object) -> Path:
        raise Conflict("The files cannot be read.")

    monkeypatch.setattr(private_draw, "_counted_rows", break_off)
    draw_all(series)
    ended_at = series.ended_at
    series_end_all("restored")
    with pytest.raises(Conflict, match="cannot go on"):
        series_resume(series=series, by=None)
    series.refresh_from_db()
    assert (series.ending, series.ended_at) == ("restored", ended_at)


def test_a_series_does_not_go_on_where_noise_may_have_been_drawn(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(dataset, week(1, range(10)))
    series = declare(dataset)
    complete(series, 1)

    def break_off(*_: object) -> bytes:
        raise ValueError

    monkeypatch.setattr(release_job, "encode", break_off)
    draw_all(series)
    assert series.ending == "failed"
    with pytest.raises(Conflict, match="drew no noise"):
        series_resume(series=series, by=None)
    series.refresh_from_db()
    assert series.ending == "failed"


def test_a_draw_from_another_state_is_not_committed(dataset: Dataset) -> None:
    add(dataset, week(1, range(10)))
    series = declare(dataset)
    complete(series, 1)
    series_draw_due()
    release = Release.objects.select_related("series").get(series=series)
    assert release.series is not None
    Series.objects.filter(pk=series.pk).update(drawn=1, state_name="series/other")
    name = new_blob_name(release)
    private_storage().save(series_state.state_name(release), ContentFile(b"state"))
    assert not commit_blob(release, name, b"blob", bound=release.bound)
    release.refresh_from_db()
    assert release.blob_name == ""


def test_other_protections_pay_for_each_map(dataset: Dataset) -> None:
    for number in (1, 2, 3):
        add(dataset, week(number, range(10), places=3))
    series = declare(dataset, protection="any", most=4, epsilon="10")
    dataset.ledger.refresh_from_db()
    assert dataset.ledger.spent_units == 0
    complete(series, 3)
    releases = draw_all(series)
    assert [release.cost_units for release in releases] == [2_500_000] * 3
    assert {release.bound for release in releases} == {2}
    dataset.ledger.refresh_from_db()
    assert dataset.ledger.spent_units == 7_500_000
    one = declare(dataset, protection="one", most="", epsilon="300")
    complete(one, 3)
    releases = draw_all(one)
    # Each map is protected by itself, so contributions to one map do not limit those to later ones.
    assert [counted(release) for release in releases] == [20, 20, 20]


def test_a_series_ends_when_its_budget_is_spent(dataset: Dataset) -> None:
    add(dataset, week(1, range(10)))
    series = declare(dataset, protection="one", epsilon="400")
    complete(series, 4)
    assert len(draw_all(series)) == 2
    series.refresh_from_db()
    assert (series.drawn, series.ending) == (2, "budget")
    with pytest.raises(BudgetExceeded):
        declare(dataset, epsilon="300")


def test_the_epsilons_of_periods_in_a_row_are_rounded_down(dataset: Dataset) -> None:
    terms = series_terms(dataset, asked(protection="any", each=1, most=3, epsilon="1"))
    assert terms.epsilon_of_map * 3 <= 1
    assert terms.epsilon_of_map * 10**6 == 333_333


def test_an_unused_series_is_refunded_and_a_used_one_is_not(dataset: Dataset) -> None:
    add(dataset, week(1, range(10)))
    unused, drawn = declare(dataset, epsilon="2"), declare(dataset, epsilon="3")
    complete(drawn, 1)
    draw_all(drawn)
    for series in (unused, drawn):
        series_end(series=series, by=None)
    dataset.ledger.refresh_from_db()
    assert dataset.ledger.spent_units == 3_000_000
    assert series_draw_due() == 0
    with pytest.raises(Conflict, match="has ended"):
        series_end(series=drawn, by=None)


def test_a_restore_that_does_not_know_ends_all_series(dataset: Dataset) -> None:
    add(dataset, week(1, range(10)))
    series = declare(dataset)
    assert series_end_all("restored") == 1
    complete_day = series.window(1).last.isoformat()
    with pytest.raises(Conflict):
        series_complete(series=series, through=complete_day, by=None)


def test_maps_of_a_series_are_not_cancelled_one_by_one(dataset: Dataset) -> None:
    add(dataset, week(1, range(10)))
    series = declare(dataset)
    complete(series, 1)
    series_draw_due()
    with pytest.raises(Conflict, match="end the series"):
        release_cancel(release=Release.objects.get(series=series), by=None)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"period": "year"}, "period"),
        ({"protection": "nobody"}, "protection"),
        ({"each": 6}, "most"),
        ({"each": "none"}, "each"),
        ({"protection": "any", "most": 10**6}, "most"),
        ({"protection": "any", "most": 1000, "epsilon": "0.0001"}, "epsilon"),
        ({"mechanism": "quadtree", "parameters": {}}, "mechanism"),
        ({"period": "month", "first_day": "2026-01-31"}, "first_day"),
        ({"first_day": ""}, "first_day"),
        ({"first_day": "1969-12-31"}, "first_day"),
    ],
)
def test_what_a_series_cannot_be_is_refused_by_name(
    dataset: Dataset, changes: dict[str, Any], field: str
) -> None:
    add(dataset, week(1, range(5)))
    with pytest.raises(InvalidInput) as refusal:
        declare(dataset, **changes)
    assert refusal.value.field == field
    assert not Series.objects.exists()


@pytest.mark.parametrize("protection", ["person", "any", "one"])
def test_each_map_states_its_series(dataset: Dataset, protection: str) -> None:
    add(dataset, week(1, range(10)))
    series = declare(dataset, protection=protection, most=5, epsilon="1", each=2)
    complete(series, 1)
    [release] = draw_all(series)
    document: Any = statement(load_released(release))
    stated = document["series"]
    assert (stated["number"], stated["protection"]) == (1, protection)
    year = {"person": "1", "any": "10.6", "one": "53"}[protection]
    assert stated["epsilon_of_year"] == year
    assert year in stated["meaning"]
    assert stated["paid_once"] == (protection == "person")
    assert document["contribution_bound"]["bound"] == (5 if protection == "person" else 2)
    bound = document["contribution_bound"]["meaning"]
    assert ("of all maps of the series" in bound) == (protection == "person")
    epsilon = {"person": "1", "any": "0.2", "one": "1"}[protection]
    assert document["guarantee"]["epsilon"] == epsilon
    release_publish(release=release, by=None)
    page = Client().get(reverse("release-privacy", args=[release.pk])).content.decode()
    assert "Map 1 of the series “Weekly visits”" in page


def test_a_series_of_zones(dataset: Dataset) -> None:
    layer = add_wards(dataset)
    add(dataset, week(1, range(10), places=3))
    series = declare(dataset, mechanism="zones", parameters={}, each=1, most=1)
    add(dataset, week(2, range(12), places=3))
    complete(series, 2)
    releases = draw_all(series)
    counts = [load_released(each).content.counts.sum() for each in releases]  # type: ignore[attr-defined]
    assert counts == [10, 2]
    for each in releases:
        each.layers.clear()  # From here on, only the series itself uses the layer.
    with pytest.raises(Conflict, match="has to stay"):
        public_layer_remove(layer=layer, by=None)


CALENDAR = {"person": [10, 10, 10, 0], "any": [10, 10, 10, 10]}
"""Contributions that the map of each of four weeks counts, by kind of protection of a series.

Ten people make one contribution a week, and `most` is 3.
"""


@pytest.mark.parametrize(
    ("mechanism", "parameters", "protection"),
    [
        ("sparse-grid", {"cells": 64}, "person"),
        ("places", {"reach": 20_000}, "any"),
        ("flows", {"cells": 4, "gap_hours": 30}, "person"),
    ],
)
def test_a_series_of_each_kind(
    dataset: Dataset, mechanism: str, parameters: dict[str, Any], protection: str
) -> None:
    if mechanism == "places":
        add_wards(dataset, name="stops", kind="places", file=io.BytesIO(STOPS.encode()))
    rows = way if mechanism == "flows" else week
    for number in (1, 2, 3, 4):
        add(dataset, rows(number, range(10)))
    series = declare(
        dataset,
        mechanism=mechanism,
        parameters=parameters,
        protection=protection,
        counting="visits",
        epsilon="600",
        each=2,
        most=3,
    )
    complete(series, 4)
    assert [_measured(each) for each in draw_all(series)] == CALENDAR[protection]


def way(number: int, people: range) -> bytes:
    """Return rows of each person on a week's Saturday and Sunday, and on the next Monday.

    The trip from Sunday to Monday crosses the end of the week, so it is in no map.
    """
    days = [FIRST + timedelta(weeks=number - 1, days=day) for day in (5, 6, 7)]
    lines = [
        f"p{who},{lat},10.005,{day}T12:00:00Z"
        for who in people
        for day, lat in zip(days, (50.005, 50.05, 50.09), strict=True)
    ]
    return "\n".join(["who,lat,lon,seen", *lines, ""]).encode()


def _measured(release: Release) -> int:
    """Return the sum of a release's counts; a sparse grid contributes only its listed cells."""
    content: Any = load_released(release).content
    counts = content.pairs if isinstance(content, FlowsRelease) else content.counts
    return int(counts.sum())


def test_people_by_context_need_a_protection_without_an_allowance(dataset: Dataset) -> None:
    add_wards(dataset, name="stops", kind="places", file=io.BytesIO(STOPS.encode()))
    add(dataset, week(1, range(10)))
    by_time: dict[str, Any] = {"mechanism": "places", "parameters": {"slices": "days of the week"}}
    with pytest.raises(InvalidInput, match="Count visits") as refusal:
        declare(dataset, counting="people", **by_time)
    assert refusal.value.field == "counting"
    declare(dataset, counting="visits", **by_time)
    declare(dataset, counting="people", protection="one", **by_time)


def hour_passes(jobs: QuerySet[Job]) -> None:
    """Make jobs look as if they had been submitted, and had ended, an hour earlier."""
    hour = timedelta(hours=1)
    jobs.update(submitted_at=F("submitted_at") - hour, finished_at=F("finished_at") - hour)


def test_the_next_period_waits_until_keys_may_know_of_the_one_before(
    dataset: Dataset, settings: Any
) -> None:
    settings.DPGEO_JOB_SLOTS = [1, 5]
    add(dataset, week(1, range(10)))
    hour_passes(Job.objects.all())
    series = declare(dataset)
    complete(series, 2)
    assert series_draw_due() == 1
    [release] = Release.objects.filter(series=series)
    release_run(release_id=release.pk)
    # The job of the first period ended within a minute, which keys may not know yet.
    assert series_draw_due() == 0
    hour_passes(Job.objects.filter(pk=release.job_id))
    assert series_draw_due() == 1


def test_keys_learn_at_public_times_alone_how_far_a_series_is(
    dataset: Dataset, settings: Any
) -> None:
    add(dataset, week(1, range(10)))
    series = declare(dataset)
    complete(series, 2)
    draw_all(series)
    settings.DPGEO_JOB_SLOTS = [60]
    seen = series_seen(series, public=True)
    assert (seen.drawn, seen.due, seen.ended) == (0, 2, False)
    seen = series_seen(series, public=False)
    assert (seen.drawn, seen.due, seen.ended) == (2, 0, False)
    settings.DPGEO_JOB_SLOTS = []
    assert series_seen(series, public=True).drawn == 2


def test_a_series_ends_when_keys_may_know_of_the_failure(dataset: Dataset, settings: Any) -> None:
    """A series ends only when API keys may know that its job has failed.

    If it ended sooner, a key that reports complete data would be refused, and learn when the job
    failed.
    """
    settings.DPGEO_JOB_SLOTS = [1, 5]
    add(dataset, week(1, range(10)))
    hour_passes(Job.objects.all())
    series = declare(dataset)
    complete(series, 1)
    series_draw_due()
    job = Job.objects.filter(release__series=series)
    job.update(state=JobState.FAILED, started_at=timezone.now(), finished_at=timezone.now())
    series_draw_due()
    # API keys may not know yet that the series has ended, and a refusal would tell them, so
    # declaring days complete is not refused.
    complete(series, 2)
    hour_passes(job)
    series_draw_due()
    with pytest.raises(Conflict, match="has ended"):
        complete(series, 2)


RHO = Accounting(delta_exponent=9, population=3_000_000)


def rho_dataset() -> Dataset:
    return make_dataset(budget=3, new_files="append", accounting=RHO)


def test_a_series_in_rho_is_paid_once_and_has_the_noise_of_its_allowance() -> None:
    dataset = rho_dataset()
    for number in (1, 2):
        add(dataset, week(number, range(5)))
    series = declare(dataset, epsilon="1", each=2, most=20)
    rho = nano_rho_for(Fraction(1), Fraction(1, 10**9))
    assert (series.rho_units, spent(dataset)) == (rho, rho)
    complete(series, 2)
    releases = draw_all(series)
    assert len(releases) == 2
    assert spent(dataset) == rho
    for release in releases:
        released = load_released(release)
        assert isinstance(released.content, GridRelease)
        assert released.content.noise == DiscreteGaussian(Fraction(rho, 10**9), 20)
        assert released.guarantee == series.terms.cost
    told: Any = statement(released)
    stated = told["series"]
    assert stated["rho"] == stated["rho_of_map"] == f"{rho / 10**9:.9f}"
    assert stated["delta"] == "1e-9"
    releases_sweep()  # The sweep must not debit any map a second time.
    assert spent(dataset) == rho


def test_the_allowance_of_a_series_in_rho_is_used_up() -> None:
    dataset = make_dataset(budget=1000, new_files="append", accounting=RHO)
    for number in (1, 2, 3):
        add(dataset, week(number, range(10), places=2))
    series = declare(dataset, epsilon="900", most=3)
    complete(series, 3)
    assert [counted(each) for each in draw_all(series)] == [20, 10, 0]
    assert used(series) == [3] * 10


def test_a_lost_debit_of_a_series_in_rho_is_made_again_in_rho() -> None:
    dataset = rho_dataset()
    add(dataset, week(1, range(5)))
    series = declare(dataset, epsilon="1")
    complete(series, 1)
    draw_all(series)
    paid = spent(dataset)
    Entry.objects.all()._raw_delete("default")
    Ledger.objects.filter(pk=dataset.ledger.pk).update(spent_units=0)
    releases_sweep()
    assert spent(dataset) == paid


@pytest.mark.parametrize("accounting", [PURE, RHO], ids=["epsilon", "rho"])
def test_nobody_fades_in_a_declared_number_of_maps_and_then_the_series_ends(
    accounting: Accounting,
) -> None:
    dataset = make_dataset(budget=1000, new_files="append", accounting=accounting)
    for number in (1, 2, 3, 4):
        add(dataset, week(number, range(10), places=3))
    series = declare(dataset, epsilon="900", protection="all", each=2, most=3)
    assert spent(dataset) == 0
    complete(series, 4)
    whole = series.terms.cost
    assert [counted(each) for each in draw_all(series)] == [20, 20, 20]
    assert (series.ending, series.state_name) == ("complete", "")
    whole_units = units_in(Notion.ZCDP if accounting is RHO else Notion.PURE_DP, whole)
    assert whole_units - 3 < spent(dataset) <= whole_units
    assert due_periods(series) == []


def test_maps_of_a_declared_number_have_gaussian_noise_of_one_maps_cells() -> None:
    dataset = rho_dataset()
    add(dataset, week(1, range(5)))
    series = declare(dataset, epsilon="1", protection="all", each=2, most=52)
    complete(series, 1)
    [release] = draw_all(series)
    content = load_released(release).content
    assert isinstance(content, GridRelease)
    rho = Fraction(nano_rho_for(Fraction(1), Fraction(1, 10**9)) // 52, 10**9)
    assert content.noise == DiscreteGaussian(rho, 2)


@pytest.mark.parametrize("mechanism", ["uniform-grid", "sparse-grid"])
@pytest.mark.parametrize("protection", ["any", "one"])
def test_maps_that_are_paid_one_by_one_are_paid_in_rho(mechanism: str, protection: str) -> None:
    dataset = rho_dataset()
    weekly = asked(protection=protection, each=1, most=4, epsilon="1", mechanism=mechanism)
    terms, request = series_read(dataset, weekly.model_copy(update={"parameters": {}}))
    whole = nano_rho_for(Fraction(1), Fraction(1, 10**9))
    assert request.amount == Fraction(whole // (4 if protection == "any" else 1), 10**9)
    assert terms.epsilon_of_map == request.epsilon_of_person
