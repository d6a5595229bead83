"""The audit list: what it records, who sees it, and that nobody can change it."""

from __future__ import annotations

import csv
import io
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import DatabaseError, connection, transaction
from django.test import Client

from dpgeo.accounts.models import Membership, Role, Scope, User
from dpgeo.accounts.services import key_create, key_revoke
from dpgeo.audit.models import Event, EventKind
from dpgeo.audit.origin import client_network
from dpgeo.audit.services import event_record
from dpgeo.datasets.erasure import person_erase
from dpgeo.datasets.services import dataset_update
from dpgeo.releases.services import release_publish, release_reject, release_withdraw
from tests.makers import make_dataset, make_ready, make_release, make_user
from tests.web.desk import PASSWORD, Desk, make_desk

pytestmark = pytest.mark.django_db

LIST = "/desk/audit/"


def last(kind: EventKind) -> Event:
    return Event.objects.filter(kind=kind).first() or pytest.fail(f"no event {kind}")


def test_sign_ins_are_listed_with_the_network_and_never_the_address(desk: Desk) -> None:
    client = Client(REMOTE_ADDR="203.0.113.77")
    client.post("/accounts/login/", {"username": "owner", "password": "wrong"})
    client.post("/accounts/login/", {"username": "owner", "password": PASSWORD})
    client.post("/accounts/logout/")
    kinds = [EventKind.SIGN_IN_FAILED, EventKind.SIGN_IN, EventKind.SIGN_OUT]
    for kind in kinds:
        event = last(kind)
        assert (event.who, event.account, event.origin) == (
            "owner",
            desk.user.pk,
            "203.0.113.0/24",
        )
    assert "203.0.113.77" not in desk.page(LIST)


def test_a_password_typed_as_a_name_is_not_kept() -> None:
    Client().post("/accounts/login/", {"username": "my secret words", "password": "x"})
    event = last(EventKind.SIGN_IN_FAILED)
    assert (event.who, event.subject, event.account) == ("", "", None)


@pytest.fixture
def _two_attempts(settings: Any) -> None:
    settings.DPGEO_FAILED_SIGN_INS = 4


@pytest.mark.usefixtures("_two_attempts")
def test_a_lock_out_is_listed_once_by_name_and_once_by_address(desk: Desk) -> None:
    for _ in range(8):
        Client().post("/accounts/login/", {"username": "owner", "password": "wrong"})
    assert Event.objects.filter(kind=EventKind.SIGN_IN_FAILED).count() == 2
    locked = Event.objects.filter(kind=EventKind.LOCKED_OUT)
    assert [event.who for event in locked] == ["owner", "owner"]


def test_networks_of_addresses() -> None:
    assert client_network("192.0.2.130") == "192.0.2.0/24"
    assert client_network("2001:db8:1:2::7") == "2001:db8:1::/48"
    assert client_network("::ffff:192.0.2.130") == "192.0.2.0/24"
    assert client_network("::1") == "::/48"
    assert client_network("not an address") == "unknown"


def test_passwords_rights_and_roles_are_listed_without_their_values(desk: Desk) -> None:
    member = make_user(desk.organisation, Role.STEWARD)
    assert (last(EventKind.ROLE).subject, last(EventKind.ROLE).detail) == (
        member.username,
        "steward",
    )
    member.set_password("other secret words")
    member.is_staff = True
    member.save()
    assert last(EventKind.PASSWORD).subject == member.username
    assert last(EventKind.ACCOUNT).detail == "is_staff"
    membership = Membership.objects.get(user=member)
    membership.role = Role.APPROVER
    membership.save()
    assert last(EventKind.ROLE).detail == "steward > approver"
    membership.delete()
    assert last(EventKind.ROLE).detail == "approver > none"
    member.delete()
    assert last(EventKind.ACCOUNT).detail == "deleted"


def test_a_sign_in_that_hashes_the_password_anew_is_no_new_password(
    desk: Desk, settings: Any
) -> None:
    before = Event.objects.filter(kind=EventKind.PASSWORD).count()
    settings.PASSWORD_HASHERS = [
        "django.contrib.auth.hashers.PBKDF2SHA1PasswordHasher",
        *settings.PASSWORD_HASHERS,
    ]
    Client().post("/accounts/login/", {"username": "owner", "password": PASSWORD})
    assert User.objects.get(pk=desk.user.pk).password.startswith("pbkdf2_sha1")
    assert Event.objects.filter(kind=EventKind.PASSWORD).count() == before


def test_keys_budgets_and_erasures_are_listed(desk: Desk, tmp_path: Path) -> None:
    scopes = [Scope.JOBS_READ]
    key, secret = key_create(
        organisation=desk.organisation, name="nightly", scopes=scopes, created_by=desk.user
    )
    key_revoke(key=key, by=desk.user)
    key_revoke(key=key, by=desk.user)
    assert secret[12:] not in f"{last(EventKind.KEY_CREATED)}"
    assert Event.objects.filter(kind=EventKind.KEY_REVOKED).count() == 1
    dataset = make_dataset(desk.organisation)
    assert last(EventKind.DATASET).subject == dataset.slug
    make_ready(dataset, tmp_path)
    dataset_update(dataset=dataset, changes={"budget": Fraction(3)})
    assert last(EventKind.BUDGET).detail == "epsilon 4 > epsilon 3"
    assert last(EventKind.BUDGET).organisation == desk.organisation.pk
    person_erase(dataset=dataset, person="somebody", by=desk.user)
    erased = last(EventKind.ERASED)
    assert (erased.subject, erased.detail, erased.who) == (dataset.slug, "", "owner")


def test_decisions_on_releases_are_listed_without_titles_and_reasons(
    desk: Desk, tmp_path: Path
) -> None:
    dataset = make_dataset(desk.organisation)
    make_ready(dataset, tmp_path)
    release = make_release(dataset, title="Where Ann lives")
    release_publish(release=release, by=desk.user)
    release_withdraw(release=release, by=desk.user)
    release_reject(release=make_release(dataset), by=desk.user, reason="Ann can be seen")
    for kind in (EventKind.PUBLISHED, EventKind.WITHDRAWN, EventKind.REJECTED):
        assert last(kind).who == "owner"
    assert last(EventKind.PUBLISHED).subject == f"{dataset.slug} {release.pk}"
    assert last(EventKind.REQUESTED).detail.startswith("epsilon ")
    rows = Event.objects.values_list("subject", "detail")
    assert not any("Ann" in text for row in rows for text in row)


def test_an_act_that_fails_leaves_no_event(desk: Desk, tmp_path: Path) -> None:
    dataset = make_dataset(desk.organisation)
    make_ready(dataset, tmp_path)
    release = make_release(dataset)
    release_publish(release=release, by=desk.user)
    with pytest.raises(Exception, match="published"):
        release_publish(release=release, by=desk.user)
    assert Event.objects.filter(kind=EventKind.PUBLISHED).count() == 1


def test_nothing_can_be_changed_or_deleted() -> None:
    event = event_record(EventKind.SIGN_IN, who="ann")
    event.who = "bob"
    for attempt in (
        event.save,
        event.delete,
        Event.objects.all().delete,
        lambda: Event.objects.update(who="bob"),
    ):
        with pytest.raises(TypeError):
            attempt()
    with (
        pytest.raises(DatabaseError),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute("UPDATE audit_event SET who = 'bob'")
    assert Event.objects.get(pk=event.pk).who == "ann"


def test_administrators_see_their_own_organisation_alone(desk: Desk) -> None:
    other = make_desk("Other house", "stranger")
    event_record(EventKind.DATASET, organisation=other.organisation.pk, subject="other-trips")
    event_record(EventKind.DATASET, organisation=desk.organisation.pk, subject="own-trips")
    event_record(EventKind.SIGN_IN, by=other.user)
    page = desk.page(LIST)
    assert "own-trips" in page
    assert "other-trips" not in page
    assert "stranger" not in page
    assert desk.signed_in("steward", role=Role.STEWARD).get(LIST).status_code == 404
    assert desk.signed_in("nobody", role=None).get(LIST).status_code == 404
    assert Client().get(LIST).status_code == 302


def test_a_privacy_officer_needs_the_permission_and_not_the_role(desk: Desk) -> None:
    officer = make_user(desk.organisation, Role.STEWARD)
    officer.user_permissions.add(Permission.objects.get(codename="view_event"))
    event_record(EventKind.DATASET, organisation=desk.organisation.pk, subject="own-trips")
    event_record(EventKind.DATASET, organisation=desk.organisation.pk + 999, subject="foreign")
    client = Client()
    client.force_login(User.objects.get(pk=officer.pk))
    page = client.get(LIST).content.decode()
    assert "own-trips" in page
    assert "foreign" not in page


def test_the_filter_holds_for_the_page_and_for_the_exports(desk: Desk) -> None:
    pk = desk.organisation.pk
    event_record(EventKind.DATASET, organisation=pk, subject="=trips;=1", by=desk.user)
    event_record(EventKind.DISCARDED, organisation=pk, subject="walks", by=desk.user)
    page = desk.page(f"{LIST}?kind=dataset&text=TRIPS")
    assert "=trips" in page
    assert "walks" not in page
    assert "No event fits" in desk.page(f"{LIST}?last=2020-01-01")
    assert "Fix 1 problem" in desk.page(f"{LIST}?first=yesterday")
    query = {"kind": "dataset", "text": "trips"}
    answer = desk.client.get(f"{LIST}export.csv", query)
    assert answer.streaming
    rows = list(csv.DictReader(io.StringIO(answer.getvalue().decode())))
    assert [row["subject"] for row in rows] == ["'=trips;'=1"]
    lines = desk.client.get(f"{LIST}export.jsonl", query).getvalue().decode().splitlines()
    assert [json.loads(line)["subject"] for line in lines] == ["=trips;=1"]
    assert desk.client.get(f"{LIST}export.xml").status_code == 404
    assert [event.detail for event in Event.objects.filter(kind=EventKind.EXPORTED)] == [
        "jsonl",
        "csv",
    ]


@pytest.mark.django_db(transaction=True)
def test_events_are_printed_as_lines_of_json_once_they_are_committed(
    settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.LOGS_ARE_JSON = True
    with transaction.atomic():
        event_record(EventKind.SIGN_IN, who="undone")
        transaction.set_rollback(True)
    event = event_record(EventKind.SIGN_IN, who="ann", detail="a\nb \u2028 \u00e9")
    (line,) = capsys.readouterr().out.split("\n")[:-1]
    assert json.loads(line) == {
        "logger": "dpgeo.audit",
        "id": event.pk,
        "at": event.at.isoformat(),
        "kind": "sign-in",
        "who": "ann",
        "origin": "console",
        "organisation": None,
        "subject": "",
        "detail": "a\nb \u2028 \u00e9",
    }
