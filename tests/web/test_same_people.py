"""Datasets that share many people but have different budgets.

The tests cover the warnings and the answers to them, and check that API keys see neither.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from dpgeo.accounts.models import ApiKey, Organisation, Role, User
from dpgeo.budgets.models import Ledger
from dpgeo.core.errors import Conflict, InvalidInput, NotAllowed
from dpgeo.datasets.dataset_budgets import dataset_merge_ledgers
from dpgeo.datasets.erasure import person_erase
from dpgeo.datasets.ingest_job import upload_ingest
from dpgeo.datasets.models import Dataset, PeopleAnswer, PeopleWarning, Upload, UploadState
from dpgeo.datasets.same_people import Comparison, open_warnings, people_answer
from dpgeo.datasets.storage import private_storage
from dpgeo.datasets.uploads import upload_confirm
from dpgeo.ingest.schema import Columns
from tests.makers import make_dataset, make_organisation, make_received, make_request, make_user
from tests.web.api import REQUEST
from tests.web.api import program as program_of_key

pytestmark = pytest.mark.django_db

TIME = re.compile(r"\d{4}-\d\d-\d\dT[0-9:.]+Z?")

COLUMNS = Columns(longitude="lon", latitude="lat", person="who")


def rows(people: Iterable[int]) -> bytes:
    lines = [f"p{number},50.0{number % 9 + 1},10.0{number % 7 + 1}" for number in people]
    return "\n".join(["who,lat,lon", *lines, ""]).encode()


def read(dataset: Dataset, content: bytes, by: User | None = None) -> Upload:
    upload = make_received(dataset, content)
    Upload.objects.filter(pk=upload.pk).update(created_by=by)
    upload.refresh_from_db()
    columns = COLUMNS if dataset.unit == "person" else Columns(longitude="lon", latitude="lat")
    upload_confirm(upload=upload, columns=columns)
    assert upload_ingest(upload_id=upload.pk)
    upload.refresh_from_db()
    assert upload.state == UploadState.READY
    dataset.refresh_from_db()
    return upload


def by_key(organisation: Organisation) -> User:
    user = make_user(organisation, Role.ADMINISTRATOR)
    user.acting_key = ApiKey(
        organisation=organisation,
        name="sync",
        scopes=["releases:request", "releases:publish", "uploads:write"],
    )
    return user


def warned(dataset: Dataset) -> bool:
    return open_warnings(dataset).exists()


@pytest.fixture
def organisation() -> Organisation:
    return make_organisation()


@pytest.fixture
def first(organisation: Organisation) -> Dataset:
    dataset = make_dataset(organisation)
    read(dataset, rows(range(300)))
    return dataset


@pytest.mark.parametrize(
    ("people", "many"),
    [(range(270, 570), True), (range(271, 571), False), (range(99), False), (range(100), True)],
)
def test_a_tenth_of_the_people_on_another_budget_is_warned_of(
    first: Dataset, people: range, many: bool, caplog: pytest.LogCaptureFixture
) -> None:
    second = make_dataset(first.organisation)
    with caplog.at_level(logging.WARNING, logger="dpgeo"):
        read(second, rows(people))
    assert warned(second) is many
    assert not warned(first)
    assert ("many of the same people" in caplog.text) is many
    if many:
        with pytest.raises(Conflict, match="The same people"):
            make_request(second, make_user(second.organisation))
        with pytest.raises(Conflict):
            make_request(second)
    else:
        make_request(second, make_user(second.organisation))


def test_files_too_small_to_be_compared_are_compared_together(first: Dataset) -> None:
    second = make_dataset(first.organisation, new_files="append")
    for start in (0, 60):
        read(second, rows(range(start, start + 60)))
        assert warned(second) is (start == 60)
    third = make_dataset(first.organisation)
    read(third, rows(range(60)))  # too few people in the file for a comparison
    assert not warned(third)


def test_a_file_is_compared_with_all_files_of_another_dataset(organisation: Organisation) -> None:
    grown = make_dataset(organisation, new_files="append")
    for start in (0, 150):
        read(grown, rows(range(start, start + 150)))
    later = make_dataset(organisation)
    read(later, rows(range(100)))  # all of these people are in the older file, too
    assert warned(later)


def test_datasets_on_one_budget_or_of_another_organisation_are_not_compared(
    first: Dataset,
) -> None:
    shared = make_dataset(first.organisation, budget=None, ledger=first.ledger)
    read(shared, rows(range(300)))
    foreign = make_dataset(make_organisation())
    read(foreign, rows(range(300)))
    assert not PeopleWarning.objects.exists()


def test_of_files_read_at_once_one_is_compared_with_the_other(
    first: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    second, third = (make_dataset(first.organisation) for _ in range(2))
    missing = Comparison.missing
    calls: list[int] = []

    def read_another_first(self: Comparison) -> list[Upload]:
        calls.append(1)
        # At this point, the first comparison has ended, but the file is not marked as ready yet.
        if len(calls) == 2:
            read(third, rows(range(1000, 1300)))
        return missing(self)

    monkeypatch.setattr(Comparison, "missing", read_another_first)
    read(second, rows(range(1000, 1300)))
    assert warned(second)
    assert not warned(third)


def test_the_same_file_is_found_where_rows_name_no_person(organisation: Organisation) -> None:
    one, other, different = (make_dataset(organisation, unit="record") for _ in range(3))
    read(one, rows(range(300)))
    read(other, rows(range(300)))
    read(different, rows(range(1, 301)))
    assert (warned(one), warned(other), warned(different)) == (False, True, False)
    small = [make_dataset(make_organisation(), unit="record") for _ in range(1)]
    small.append(make_dataset(small[0].organisation, unit="record"))
    for dataset in small:
        read(dataset, rows(range(99)))
        assert not warned(dataset)


def test_a_lost_file_of_another_dataset_stops_no_work(
    first: Dataset, caplog: pytest.LogCaptureFixture
) -> None:
    private_storage().delete(first.uploads.get().canonical_name)
    second = make_dataset(first.organisation)
    read(second, rows(range(1000, 1300)))
    assert not warned(second)
    assert f"not compared with dataset {first.pk}" in caplog.text


def test_an_erased_person_is_in_no_comparison_and_no_checksum(first: Dataset) -> None:
    for person in range(2):
        version = person_erase(dataset=first, person=f"p{person}", by=None)
        assert upload_ingest(upload_id=version.pk)
    assert not first.uploads.exclude(checksum=None).exists()
    second = make_dataset(first.organisation)
    # 29 of the first file's remaining 298 people are in this file.
    read(second, rows([0, 1, *range(271, 569)]))
    assert not warned(second)


def test_an_approver_gives_a_reason_which_is_kept(first: Dataset) -> None:
    second = make_dataset(first.organisation)
    read(second, rows(range(300)))
    steward = make_user(first.organisation)
    approver = make_user(first.organisation, Role.APPROVER)
    for by, refusal in ((steward, NotAllowed), (by_key(first.organisation), NotAllowed)):
        with pytest.raises(refusal):
            people_answer(dataset=second, by=by, reason="They are others.")
    with pytest.raises(InvalidInput):
        people_answer(dataset=second, by=approver, reason=" ")
    people_answer(dataset=second, by=approver, reason="The tickets are numbered anew.")
    answer = PeopleAnswer.objects.get()
    assert (answer.who, answer.reason) == (str(approver), "The tickets are numbered anew.")
    assert PeopleWarning.objects.get().answer == answer
    assert make_request(second, steward).pk


def test_an_answer_is_about_the_files_read_before_it(
    first: Dataset, caplog: pytest.LogCaptureFixture
) -> None:
    second = make_dataset(first.organisation)
    steward = make_user(first.organisation)
    read(second, rows(range(270, 570)))  # 30 of 300 people, a tenth, are in both files
    people_answer(dataset=second, by=None, reason="Few.")
    assert make_request(second, steward).pk
    read(second, rows(range(1000, 1300)))
    assert not warned(second)
    caplog.clear()
    with caplog.at_level(logging.WARNING, logger="dpgeo"):
        read(second, rows(range(300)))
        read(second, rows(range(300)))
    # At the second file, the first one's warning is still unanswered, so nothing is logged again.
    assert caplog.text.count("many of the same people") == 1
    assert warned(second)
    with pytest.raises(Conflict, match="The same people"):
        make_request(second, steward)
    assert PeopleAnswer.objects.get().reason == "Few."
    people_answer(dataset=second, by=None, reason="All, and it may stand.", standing=True)
    read(second, rows(range(300)))
    assert not warned(second)
    assert PeopleAnswer.objects.count() == 2


def test_merging_the_budgets_answers_a_warning(first: Dataset) -> None:
    second = make_dataset(first.organisation)
    read(second, rows(range(300)))
    dataset_merge_ledgers(dataset=first, ledger=second.ledger, by=None)
    second.refresh_from_db()
    assert not warned(second)
    assert make_request(second, by_key(first.organisation)).pk


@pytest.mark.parametrize("people", [range(300), range(1000, 1300)])
def test_a_key_is_refused_alike_until_an_approver_has_answered(
    first: Dataset, people: range
) -> None:
    key = by_key(first.organisation)
    assert make_request(first, key).pk  # no other budget to compare people with yet
    second = make_dataset(first.organisation)
    read(second, rows(people))
    with pytest.raises(Conflict) as refused:
        make_request(second, key)
    assert str(refused.value) == (
        "An approver first has to answer, on the desk, whether other datasets hold the same "
        "people: open the dataset there and choose The same people."
    )
    reason = "Other people." if warned(second) else ""
    people_answer(dataset=second, by=None, reason=reason)
    assert make_request(second, key).pk
    read(second, rows(people))
    with pytest.raises(Conflict):
        make_request(second, key)


def test_a_standing_answer_holds_for_later_files(first: Dataset) -> None:
    second = make_dataset(first.organisation)
    read(second, rows(range(1000, 1300)))
    with pytest.raises(InvalidInput):
        people_answer(dataset=second, by=None, standing=True)
    people_answer(dataset=second, by=None, reason="Codes are shuffled each month.", standing=True)
    read(second, rows(range(300)))
    warning = PeopleWarning.objects.get()
    assert warning.answer == PeopleAnswer.objects.get()
    assert make_request(second, by_key(first.organisation)).pk


def test_no_answer_is_given_while_a_file_is_read(first: Dataset) -> None:
    second = make_dataset(first.organisation)
    upload = make_received(second, rows(range(300)))
    upload_confirm(upload=upload, columns=COLUMNS)
    with pytest.raises(Conflict, match="being read"):
        people_answer(dataset=second, by=None)


def test_confirmations_are_limited_where_there_are_several_budgets(
    first: Dataset, settings: Any
) -> None:
    settings.DPGEO_CONFIRMATIONS_AN_HOUR = 1
    steward = make_user(first.organisation)
    read(first, rows(range(300)), steward)
    read(first, rows(range(300)), steward)  # no other budget to compare people with yet
    second = make_dataset(first.organisation)
    read(second, rows(range(300)), steward)
    with pytest.raises(Conflict, match="within an hour"):
        read(second, rows(range(300)), steward)
    read(second, rows(range(300)))  # uploads at the console have no hourly limit


def asked(dataset: Dataset) -> dict[str, Any]:
    return {"dataset": dataset.slug, "title": "Trips", **REQUEST}


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_the_desk_shows_a_warning_without_a_number_and_takes_the_answer(first: Dataset) -> None:
    second = make_dataset(first.organisation, title="Trams")
    read(second, rows(range(277)))
    steward, approver, owner = (
        signed_in(make_user(first.organisation, role))
        for role in (Role.STEWARD, Role.APPROVER, Role.ADMINISTRATOR)
    )
    stranger = signed_in(make_user(make_organisation()))
    page = reverse("desk-people", args=[second.slug])
    home = steward.get(reverse("desk-dataset", args=[second.slug])).content.decode()
    assert "Many of the same people are in another dataset." in home
    assert stranger.get(page).status_code == 404
    seen = steward.get(page).content.decode()
    assert f"Many of the same people are in {first.title}, on another budget." in seen
    assert "277" not in seen
    assert 'value="answer"' not in seen
    assert 'value="merge"' not in seen
    sent = {"action": "answer", "reason": "Numbered anew."}
    assert "approvers" in steward.post(page, sent, follow=True).content.decode()
    answered = approver.post(page, sent, follow=True).content.decode()
    assert "Your answer is recorded." in answered
    assert "Numbered anew." in answered
    merge = {"action": "merge", "ledger": str(first.ledger_id)}
    refused = approver.post(page, merge, follow=True).content.decode()
    assert "Choose one of these budgets." in refused
    merged = owner.post(page, merge, follow=True).content.decode()
    assert "The budgets are one from now on." in merged
    first.refresh_from_db()
    assert first.ledger_id == second.ledger_id
    assert "Choose one of the actions" in owner.post(page, {}, follow=True).content.decode()


def test_the_desk_shows_draws_of_an_unknown_dataset_to_its_publisher(first: Dataset) -> None:
    Ledger.objects.create(
        name="Ferries",
        recovers="ferries",
        recovers_for=first.organisation.name,
        total_units=500_000,
        spent_units=500_000,
    )
    owner = signed_in(make_user(first.organisation, Role.ADMINISTRATOR))
    approver = signed_in(make_user(first.organisation, Role.APPROVER))
    home = owner.get("/desk/").content.decode()
    assert "Ferries (ferries)" in home
    assert "epsilon 0.5" in home
    assert (
        "found after a restore"
        in owner.get(reverse("desk-people", args=[first.slug])).content.decode()
    )
    assert "Ferries" not in approver.get("/desk/").content.decode()


def test_a_key_sees_the_same_documents_whatever_was_found() -> None:
    """A key sees the same documents whether or not shared people were found.

    The test compares all documents about the dataset, its upload and the job, and the refused
    request.
    """
    answers = []
    for people in (range(300), range(1000, 1300)):
        office = make_organisation()
        read(make_dataset(office, title="Ferries"), rows(people))
        second = make_dataset(office, title="Trams", slug=f"trams-{people.start}")
        upload = read(second, rows(range(300)))
        program = program_of_key(office, make_user(office, Role.ADMINISTRATOR))
        second.uploads.update(key=ApiKey.objects.get(organisation=office))
        seen = [
            program.ask("GET", f"/api/v1/datasets/{second.slug}"),
            program.ask("GET", f"/api/v1/uploads/{upload.pk}"),
            program.ask("GET", f"/api/v1/jobs/{upload.job_id}"),
            program.ask("GET", "/api/v1/budgets"),
            program.ask("GET", "/api/v1/datasets"),
            program.ask("POST", f"/api/v1/datasets/{second.slug}/quote", REQUEST),
            program.ask("POST", "/api/v1/releases", asked(second), 409, Idempotency_Key="a" * 20),
        ]
        text = json.dumps(seen)
        for name in (second.slug, str(upload.pk), str(upload.job_id), office.slug, office.name):
            text = text.replace(name, "...")
        first = Dataset.objects.exclude(pk=second.pk).get(organisation=office)
        text = text.replace(first.slug, "...")
        answers.append(TIME.sub("...", text))
    assert answers[0] == answers[1]
    assert warned(Dataset.objects.get(slug="trams-0"))
    assert not warned(Dataset.objects.get(slug="trams-1000"))
