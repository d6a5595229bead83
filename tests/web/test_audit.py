"""The audit list: what it records, who sees it, and that nobody can change it."""

from __future__ import annotations

import csv
import io
import json
import socket
import threading
from collections.abc import Iterator
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import DatabaseError, connection, transaction
from django.test import Client

from dpgeo.accounts.models import Membership, Role, Scope, User
from dpgeo.accounts.services import key_create, key_revoke
from dpgeo.audit.export import event_facts
from dpgeo.audit.models import Event, EventKind
from dpgeo.audit.origin import network_of
from dpgeo.audit.otlp import AT_ONCE, check_otlp, event_export
from dpgeo.audit.services import event_record
from dpgeo.audit.syslog import check_syslog
from dpgeo.datasets.erasure import person_erase
from dpgeo.datasets.services import dataset_update
from dpgeo.releases.services import release_publish, release_reject, release_withdraw
from tests.makers import make_dataset, make_ready, make_release, make_user
from tests.web.desk import PASSWORD, Desk, make_desk

pytestmark = pytest.mark.django_db

LIST = "/desk/audit/"


@pytest.fixture
def desk() -> Desk:
    return make_desk()


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
    assert network_of("192.0.2.130") == "192.0.2.0/24"
    assert network_of("2001:db8:1:2::7") == "2001:db8:1::/48"
    assert network_of("::ffff:192.0.2.130") == "192.0.2.0/24"
    assert network_of("::1") == "::/48"
    assert network_of("not an address") == "unknown"


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


def test_the_page_speaks_german(desk: Desk) -> None:
    event_record(EventKind.DISCARDED, organisation=desk.organisation.pk, subject="walks")
    page = desk.page("/de/desk/audit/")
    assert "Protokoll" in page
    assert "Discarded" not in page


@pytest.mark.django_db(transaction=True)
def test_events_are_sent_to_syslog_once_they_are_committed(settings: Any) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(5)
        settings.DPGEO_AUDIT_SYSLOG = f"udp://127.0.0.1:{server.getsockname()[1]}"
        with transaction.atomic():
            event_record(EventKind.SIGN_IN, who="undone")
            transaction.set_rollback(True)
        event_record(EventKind.SIGN_IN, who="ann")
        line = server.recv(4096).decode()
    assert line.startswith("<86>dpgeo: {")
    assert json.loads(line[line.index("{") :].rstrip("\0"))["who"] == "ann"


def test_a_syslog_server_that_is_missing_stops_nothing(
    settings: Any, tmp_path: Path, django_capture_on_commit_callbacks: Any
) -> None:
    settings.DPGEO_AUDIT_SYSLOG = str(tmp_path / "missing")
    with django_capture_on_commit_callbacks(execute=True):
        event_record(EventKind.SIGN_IN, who="ann")
    assert Event.objects.get().who == "ann"


@pytest.mark.parametrize(
    ("setting", "wrong"), [("", 0), ("/dev/log", 0), ("udp://log", 0), ("tcp://log", 1), ("x", 1)]
)
def test_a_wrong_syslog_server_is_reported(settings: Any, setting: str, wrong: int) -> None:
    settings.DPGEO_AUDIT_SYSLOG = setting
    assert len(check_syslog()) == wrong


class Collector(BaseHTTPRequestHandler):
    """An HTTP server that accepts posted data and responds with the status set in `status`."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server: Any = self.server
        self.send_response(server.status)
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()
        server.got.put((self.path, dict(self.headers), json.loads(body)))

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def collector(settings: Any) -> Iterator[Any]:
    server: Any = HTTPServer(("127.0.0.1", 0), Collector)
    server.status, server.got = 200, Queue()
    settings.DPGEO_AUDIT_OTLP = f"http://127.0.0.1:{server.server_port}/v1/logs"
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.mark.django_db(transaction=True)
def test_events_are_sent_to_a_collector_once_they_are_committed(
    collector: Any, settings: Any
) -> None:
    settings.DPGEO_AUDIT_OTLP_TOKEN = "secret words"  # noqa: S105
    with transaction.atomic():
        event_record(EventKind.SIGN_IN, who="undone")
        transaction.set_rollback(True)
    event = event_record(EventKind.SIGN_IN, who="ann", subject="\u00fc")
    path, headers, document = collector.got.get(timeout=60)
    assert (path, headers["Authorization"]) == ("/v1/logs", "Bearer secret words")
    assert headers["Content-Type"] == "application/json"
    (resource,) = document["resourceLogs"]
    service = {"key": "service.name", "value": {"stringValue": "dpgeo"}}
    assert resource["resource"]["attributes"] == [service]
    (record,) = resource["scopeLogs"][0]["logRecords"]
    stored = Event.objects.get()
    assert int(record["timeUnixNano"]) == round(stored.at.timestamp() * 10**6) * 1000
    assert record["eventName"] == f"dpgeo.audit.{EventKind.SIGN_IN}"
    assert json.loads(record["body"]["stringValue"]) == event_facts(stored)
    attributes = {each["key"]: each["value"] for each in record["attributes"]}
    assert attributes["dpgeo.who"] == {"stringValue": "ann"}
    assert attributes["dpgeo.subject"] == {"stringValue": "\u00fc"}
    assert attributes["dpgeo.id"] == {"intValue": str(event.pk)}
    assert "dpgeo.organisation" not in attributes
    assert collector.got.empty()


def test_a_collector_that_refuses_or_is_missing_stops_nothing(
    collector: Any, settings: Any, caplog: Any, django_capture_on_commit_callbacks: Any
) -> None:
    def record() -> None:
        before = threading.enumerate()
        with django_capture_on_commit_callbacks(execute=True):
            event_record(EventKind.SIGN_IN, who="ann")
        for each in set(threading.enumerate()) - set(before):
            each.join(10)

    collector.status = 307  # the sender must not follow this redirect
    record()
    assert collector.got.get(timeout=60)[0] == "/v1/logs"
    assert collector.got.empty()
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        settings.DPGEO_AUDIT_OTLP = f"http://127.0.0.1:{closed.getsockname()[1]}/v1/logs"
        record()
    assert Event.objects.count() == 2
    said = [each.getMessage() for each in caplog.records]
    assert [each for each in said if "collector" in each] == [
        "an event was not accepted by the collector: 307",
        "an event was not sent to the collector: ConnectionRefusedError",
    ]


def test_a_token_that_no_header_can_hold_is_not_printed(
    settings: Any, capfd: Any, caplog: Any
) -> None:
    settings.DPGEO_AUDIT_OTLP = "http://127.0.0.1:9/v1/logs"
    settings.DPGEO_AUDIT_OTLP_TOKEN = "secret words\n"  # noqa: S105
    before = threading.enumerate()
    event_export(event_record(EventKind.SIGN_IN, who="ann"))
    for each in set(threading.enumerate()) - set(before):
        each.join(10)
    assert "an event was not sent to the collector: ValueError" in caplog.text
    assert "secret" not in caplog.text + "".join(capfd.readouterr())


def test_a_collector_that_hangs_does_not_collect_threads(
    settings: Any, monkeypatch: Any, caplog: Any
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings.DPGEO_AUDIT_OTLP = f"http://127.0.0.1:{silent.getsockname()[1]}/v1/logs"
        monkeypatch.setattr("dpgeo.audit.otlp.SECONDS", 1)
        before = set(threading.enumerate())
        event = event_record(EventKind.SIGN_IN, who="ann")
        for _ in range(AT_ONCE + 3):
            event_export(event)
        started = set(threading.enumerate()) - before
        for each in started:
            each.join(10)
    assert len(started) <= AT_ONCE
    assert "too many are under way" in caplog.text


@pytest.mark.parametrize(
    ("setting", "wrong"),
    [("", 0), ("https://log/v1/logs", 0), ("http://127.0.0.1:4318/v1/logs", 0)]
    + [(each, 1) for each in ("http://log/v1/logs", "log:4318", "https://", "https://log:0/")],
)
def test_a_wrong_collector_is_reported(settings: Any, setting: str, wrong: int) -> None:
    settings.DPGEO_AUDIT_OTLP = setting
    assert len(check_otlp()) == wrong
