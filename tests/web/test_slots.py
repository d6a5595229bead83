"""What API keys see of a job before its public time, when they learn that it has ended.

That is the first of several times, fixed when the job is submitted, that is not before the end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from dpgeo.accounts.models import ApiKey
from dpgeo.datasets.erasure import person_erase
from dpgeo.datasets.ingest_job import upload_ingest
from dpgeo.datasets.models import Dataset, Upload
from dpgeo.jobs.models import Job, JobState
from dpgeo.jobs.services import job_fail, job_lease, job_retry
from dpgeo.jobs.slots import public_slot
from dpgeo.phrases import Phrase
from dpgeo.releases.models import Release
from dpgeo.releases.publication import releases_publish_due
from dpgeo.releases.series import series_draw_due
from dpgeo.releases.services import release_cancel, release_publish, release_run
from tests.web.api import COLUMNS, REQUEST, Program, program_of
from tests.web.desk import Desk, make_desk

pytestmark = pytest.mark.django_db

NAMED = {"Idempotency_Key": "monday"}
BOX = {"bbox": [13.3, 52.4, 13.4, 52.5]}
MINUTE = timedelta(minutes=1)


@pytest.fixture
def desk(settings: Any) -> Desk:
    settings.DPGEO_JOB_SLOTS = [1, 5, 15, 60]
    return make_desk()


@pytest.mark.parametrize(
    ("minutes", "shown"),
    [(0, 1), (0.9, 1), (1, 1), (1.1, 5), (5.1, 15), (15.1, 60), (60.1, 120), (299, 300)],
)
def test_an_end_is_shown_at_the_next_slot(settings: Any, minutes: float, shown: int) -> None:
    settings.DPGEO_JOB_SLOTS = [1, 5, 15, 60]
    submitted = datetime(2026, 1, 5, 9, tzinfo=UTC)
    assert public_slot(submitted, submitted + minutes * MINUTE) == submitted + shown * MINUTE
    settings.DPGEO_JOB_SLOTS = []
    assert public_slot(submitted, submitted + minutes * MINUTE) == submitted + minutes * MINUTE


def later(job: Job, minutes: int = 1) -> None:
    """Make a job look as if it had been submitted, and had ended, this many minutes earlier."""
    job.refresh_from_db()
    assert job.finished_at is not None
    passed = minutes * MINUTE
    Job.objects.filter(pk=job.pk).update(
        submitted_at=job.submitted_at - passed, finished_at=job.finished_at - passed
    )


def with_data(desk: Desk) -> Dataset:
    """Return a dataset with a file whose job looks as if it had ended some time ago."""
    dataset = desk.declare(ready=True)
    for upload in dataset.uploads.all():
        later(upload.job or Job())
    return dataset


def seen_of_release(program: Program, release: Release) -> dict[str, tuple[int, bytes]]:
    """Return everything a key learns about a release from reads, quotes and attempted actions."""
    map_ = f"/api/v1/releases/{release.pk}"
    home = f"/api/v1/datasets/{release.dataset.slug}"
    requests: list[tuple[str, str, Any]] = [
        ("GET", f"/api/v1/jobs/{release.job_id}", None),
        ("GET", map_, None),
        ("GET", "/api/v1/releases", None),
        ("GET", f"{map_}/files/statement.json", None),
        ("GET", f"{map_}/files/map.bin", None),
        ("POST", f"{map_}/query", BOX),
        ("POST", f"{map_}/publish", {}),
        ("POST", f"{map_}/reject", {"reason": "No."}),
        ("POST", f"{map_}/retry", {}),
        ("GET", "/api/v1/budgets", None),
        ("POST", f"{home}/quote", REQUEST),
        ("POST", f"{home}/quote", {**REQUEST, "epsilon": "1.6"}),
        ("GET", home, None),
    ]
    answers = {}
    for number, (method, address, body) in enumerate(requests):
        answer = program.send(method, address, body)
        answers[f"{number} {method} {address}"] = (answer.status_code, b"".join(answer))
    return answers


def fail(release: Release) -> None:
    """Make a release's job fail before noise is drawn, so that it is refunded."""
    lease = job_lease(job_id=release.job_id)
    assert lease is not None
    job_fail(job_id=release.job_id, lease=lease, reason=Phrase("Too large for 4711 bytes."))


def draw(release: Release) -> None:
    assert release_run(release_id=release.pk)


def begin(release: Release) -> None:
    assert job_lease(job_id=release.job_id)


@pytest.mark.parametrize("happening", [begin, draw, fail])
def test_a_key_sees_the_same_whatever_happens_before_the_slot(
    desk: Desk, happening: Callable[[Release], None]
) -> None:
    program, dataset = program_of(desk), with_data(desk)
    body = {"dataset": dataset.slug, "title": "A map", **REQUEST}
    job = program.ask("POST", "/api/v1/releases", body, 202, **NAMED)
    release = Release.objects.get(pk=job["release_url"].rpartition("/")[2])
    before = seen_of_release(program, release)
    assert json.loads(before[f"0 GET /api/v1/jobs/{release.job_id}"][1])["state"] == "working"
    happening(release)
    assert seen_of_release(program, release) == before
    if happening is begin:
        return
    later(release.job)
    after = seen_of_release(program, release)
    assert json.loads(after[f"0 GET /api/v1/jobs/{release.job_id}"][1])["state"] == "done"


def test_an_owner_sees_the_draft_at_once(desk: Desk) -> None:
    release = desk.request(desk.declare(ready=True))
    draw(release)
    assert desk.client.get(f"/api/v1/releases/{release.pk}").json()["files"]
    assert desk.client.get(f"/api/v1/releases/{release.pk}/files/map.bin").status_code == 200


def test_a_key_does_not_cancel_a_job_that_may_have_begun(desk: Desk) -> None:
    """A key cannot cancel a job that may have begun.

    Whether cancelling succeeds would reveal when earlier work ended.
    """
    program, dataset = program_of(desk), with_data(desk)
    body = {"dataset": dataset.slug, "title": "A map", **REQUEST}
    job = program.ask("POST", "/api/v1/releases", body, 202, **NAMED)
    program.ask("POST", f"{job['release_url']}/cancel", status=409)
    release = Release.objects.get()
    assert release.job.state == JobState.QUEUED
    release_cancel(release=release, by=desk.user)
    assert Job.objects.get(pk=release.job_id).state == JobState.CANCELLED


def test_a_key_has_one_job_at_a_time(desk: Desk) -> None:
    """A key has only one job at a time.

    With many jobs, the number shown as done at a public time would reveal how long one job takes.
    """
    program, dataset, other = program_of(desk), with_data(desk), desk.declare(title="Other")
    body = {"dataset": dataset.slug, "title": "A map", **REQUEST}
    address = program.upload(other.slug)
    first = program.ask("POST", "/api/v1/releases", body, 202, **NAMED)
    refused = program.ask("POST", "/api/v1/releases", body, 409, Idempotency_Key="tuesday")
    program.ask("POST", f"{address}/confirm", {"columns": COLUMNS}, 409)
    known = program.ask("POST", "/api/v1/releases", body, 200, **NAMED)
    assert known["url"] == first["url"]
    release = Release.objects.get()
    draw(release)
    again = program.ask("POST", "/api/v1/releases", body, 409, Idempotency_Key="tuesday")
    assert again == refused
    assert desk.request(dataset)
    later(release.job)
    program.ask("POST", "/api/v1/releases", body, 202, Idempotency_Key="tuesday")


def test_a_key_does_not_see_when_an_erasure_ends(desk: Desk) -> None:
    program, dataset = program_of(desk), with_data(desk)
    dataset.uploads.update(key=ApiKey.objects.get())
    read = dataset.uploads.get()
    waiting = program.upload(dataset.slug)
    body = {"dataset": dataset.slug, "title": "A map", **REQUEST}
    person_erase(dataset=dataset, person="p0", by=desk.user)

    def seen() -> list[tuple[int, bytes]]:
        answers = [
            program.send("GET", f"/api/v1/jobs/{read.job_id}"),
            program.send("GET", f"/api/v1/uploads/{read.pk}"),
            program.send("GET", waiting),
            program.send("GET", f"/api/v1/datasets/{dataset.slug}/uploads"),
            program.send("GET", f"{waiting}/preview"),
            program.send("DELETE", waiting),
            program.send("POST", f"{waiting}/confirm", {"columns": {"longitude": "x"}}),
            program.send("POST", f"{waiting}/retry", {}),
            program.send("POST", "/api/v1/releases", {**body, "epsilon": "999"}, **NAMED),
        ]
        return [(answer.status_code, b"".join(answer)) for answer in answers]

    before = seen()
    new = dataset.uploads.exclude(erasing=None).get()
    assert upload_ingest(upload_id=new.pk)
    assert Upload.objects.get(pk=read.pk).state == "erased"
    assert seen() == before
    later(Upload.objects.get(pk=new.pk).job or Job())
    assert program.ask("GET", f"/api/v1/uploads/{read.pk}")["usable"] is False
    program.ask("POST", "/api/v1/releases", body, 202, **NAMED)


def test_a_refund_gives_a_key_nothing_to_spend_but_its_owner(desk: Desk) -> None:
    program, dataset = program_of(desk), with_data(desk)
    whole = {**REQUEST, "epsilon": "2"}
    body = {"dataset": dataset.slug, "title": "A map", **whole}
    job = program.ask("POST", "/api/v1/releases", body, 202, **NAMED)
    release = Release.objects.get(pk=job["release_url"].rpartition("/")[2])
    fail(release)
    later(release.job)
    assert program.ask("GET", "/api/v1/budgets")["results"][0]["left"] == "0"
    again = program.ask("POST", "/api/v1/releases", body, 409, Idempotency_Key="tuesday")
    assert "is spent" in again["detail"]
    dataset.ledger.refresh_from_db()
    assert dataset.ledger.left == 2
    assert desk.request(dataset).cost_units


def test_a_key_requests_from_a_new_file_once_it_may_know_that_it_was_read(desk: Desk) -> None:
    program = program_of(desk)
    dataset = desk.declare()
    address = program.upload(dataset.slug)
    confirmed = program.ask("POST", f"{address}/confirm", {"columns": COLUMNS}, 202)
    body = {"dataset": dataset.slug, "title": "A map", **REQUEST}

    def seen() -> list[tuple[int, bytes]]:
        answers = [
            program.send("GET", address),
            program.send("GET", f"{address}/preview"),
            program.send("POST", f"{address}/confirm", {"columns": COLUMNS}),
            program.send("POST", f"{address}/retry", {}),
            program.send("DELETE", address),
            program.send("POST", "/api/v1/releases", body, **NAMED),
        ]
        return [(answer.status_code, b"".join(answer)) for answer in answers]

    before = seen()
    upload_ingest(upload_id=confirmed["id"])
    assert seen() == before
    later(Upload.objects.get(pk=confirmed["id"]).job or Job())
    assert program.ask("GET", address)["usable"] is True
    program.ask("POST", "/api/v1/releases", body, 202, **NAMED)


def declare_due(program: Program, dataset: Dataset, title: str = "Week by week") -> None:
    """Declare a series whose first two maps are due."""
    body = {
        "title": title,
        **{key: REQUEST[key] for key in ("mechanism", "parameters")},
        **{"period": "week", "first_day": "2026-01-05", "protection": "one", "each": 1},
        "epsilon": "0.1",
    }
    series = program.ask("POST", f"/api/v1/datasets/{dataset.slug}/series", body, 201)
    program.ask("POST", f"{series['url']}/complete", {"through": "2026-01-18"})


def test_a_series_does_not_show_keys_when_a_file_was_read(desk: Desk) -> None:
    program, dataset = program_of(desk), desk.declare()
    address = program.upload(dataset.slug)
    confirmed = program.ask("POST", f"{address}/confirm", {"columns": COLUMNS}, 202)
    declare_due(program, dataset)

    def seen() -> list[tuple[int, bytes]]:
        series_draw_due()
        addresses = ("releases", "budgets", f"datasets/{dataset.slug}/series")
        answers = [program.send("GET", f"/api/v1/{each}") for each in addresses]
        return [(answer.status_code, b"".join(answer)) for answer in answers]

    before = seen()
    upload_ingest(upload_id=confirmed["id"])
    assert seen() == before
    later(Upload.objects.get(pk=confirmed["id"]).job or Job())
    assert seen() != before
    assert Release.objects.get().number == 1


def test_due_maps_of_several_series_are_one_job_at_a_time(desk: Desk) -> None:
    """Maps of several series that are due at once are drawn one after another.

    Otherwise a key could start many jobs at once by declaring several series.
    """
    program, dataset = program_of(desk), with_data(desk)
    for title in ("One", "Other"):
        declare_due(program, dataset, title)
    drawn: list[str] = []
    for number in range(1, 5):
        assert series_draw_due() == 1
        assert series_draw_due() == 0
        release = Release.objects.exclude(pk__in=drawn).get()
        body = {"dataset": dataset.slug, "title": "A map", **REQUEST}
        program.ask("POST", "/api/v1/releases", body, 409, Idempotency_Key=str(number))
        draw(release)
        assert series_draw_due() == 0
        later(release.job)
        drawn.append(release.pk)


def test_a_release_is_published_by_itself_at_the_slot(desk: Desk) -> None:
    release = desk.request(desk.declare(ready=True), publish_when_done=True)
    draw(release)
    assert releases_publish_due() == 0
    release.refresh_from_db()
    assert release.state == "draft"
    # The button beside "It will be published on ..." says that it publishes the map earlier.
    page = desk.page(f"/desk/releases/{release.pk}/")
    assert "It will be published on" in page
    assert re.findall(r"<button[^>]*>(Publish[^<]*)</button>", page) == ["Publish now"]
    later(release.job)
    assert releases_publish_due() == 1
    release.refresh_from_db()
    assert release.state == "published"
    assert releases_publish_due() == 0


def test_an_approver_publishes_before_the_slot(desk: Desk) -> None:
    release = desk.request(desk.declare(ready=True))
    draw(release)
    release.job.refresh_from_db()
    release_publish(release=release, by=None)
    assert Program().ask("GET", f"/api/v1/releases/{release.pk}")["files"]


def test_public_times_of_a_retry_count_from_the_retry(desk: Desk) -> None:
    release = desk.request(desk.declare(ready=True))
    draw(release)
    Job.objects.filter(pk=release.job_id).update(
        state=JobState.FAILED, drawing=True, submitted_at=timezone.now() - timedelta(days=1)
    )
    release.job.refresh_from_db()
    job_retry(job=release.job)
    draw(release)
    release.job.refresh_from_db()
    shown_at = release.job.end_shown_at
    assert shown_at is not None
    assert shown_at - timezone.now() < MINUTE
    assert not release.job.is_end_shown
