"""Guesses are limited although the cache of counters fails, and refused if nothing can count."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from dpgeo.accounts import codes
from dpgeo.accounts.attempts import attempts_forget, count_attempt, forget_attempt
from dpgeo.accounts.codes import A_WINDOW
from dpgeo.accounts.models import AttemptCount, OutgoingMail, User
from dpgeo.accounts.sign_in_limits import WINDOW
from dpgeo.audit.models import Event, EventKind
from tests.disks import MIB, small_disk
from tests.migrated import DATABASE, ROOT, migrated_database
from tests.web.desk import PASSWORD, Desk
from tests.web.test_second_factor import PROVE, Clock, enter, set_up

pytestmark = pytest.mark.django_db

LIMIT = 6
ASK, PASSKEY, CONFIRM = "/accounts/password/", "/accounts/passkey/", "/desk/account/confirm/"
ACCOUNT = "/desk/account/"
NEW = "quite other secret words"


@pytest.fixture(autouse=True)
def _few_attempts(settings: Any) -> None:
    settings.DPGEO_FAILED_SIGN_INS = settings.DPGEO_PASSWORDS_AN_HOUR = LIMIT


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture(params=["dead redis", "full disk"])
def dead_cache(request: pytest.FixtureRequest, settings: Any, tmp_path: Path) -> Iterator[None]:
    """Make the cache of counters a Redis at which nobody listens, or a folder on a full disk."""
    if request.param == "full disk":
        with small_disk(tmp_path / "disk", MIB) as disk:
            disk.fill()
            backend = "dpgeo.accounts.file_cache.CountsInFiles"
            settings.CACHES = {
                **settings.CACHES,
                "throttle": {"BACKEND": backend, "LOCATION": disk.folder / "counts"},
            }
            yield
        return
    pytest.importorskip("redis")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # taken, but nobody listens
        backend = "django.core.cache.backends.redis.RedisCache"
        where = f"redis://127.0.0.1:{unused.getsockname()[1]}/1"
        settings.CACHES = {
            **settings.CACHES,
            "throttle": {"BACKEND": backend, "LOCATION": where},
        }
        yield


def sign_in(password: str, door: str = "/accounts/login/", name: str = "owner") -> Any:
    return Client().post(door, {"username": name, "password": password})


@pytest.mark.usefixtures("dead_cache")
@pytest.mark.parametrize("door", ["/accounts/login/", "/admin/login/"])
def test_passwords_are_counted(desk: Desk, door: str) -> None:
    answers = [sign_in("wrong", door).status_code for _ in range(40)]
    assert answers == [200] * (LIMIT // 2) + [429] * (40 - LIMIT // 2)
    assert sign_in(PASSWORD, door).status_code == 429


@pytest.mark.usefixtures("dead_cache")
def test_passwords_of_many_accounts_are_counted_by_address(desk: Desk) -> None:
    answers = [sign_in("wrong", name=f"nobody-{number}").status_code for number in range(9)]
    assert answers == [200] * LIMIT + [429] * 3


@pytest.mark.usefixtures("dead_cache")
def test_passkeys_are_counted() -> None:
    for _ in range(12):
        assert Client().post(PASSKEY, {"credential": "{}"}).status_code == 302
    assert Event.objects.filter(kind=EventKind.SIGN_IN_FAILED).count() == LIMIT


@pytest.mark.usefixtures("dead_cache")
@pytest.mark.parametrize("guess", ["000000", "1234 5678"])
def test_codes_and_recovery_codes_are_counted(desk: Desk, clock: Clock, guess: str) -> None:
    secret, recovery = set_up(enter()[0], clock)
    client, _ = enter()
    answers = [client.post(PROVE, {"code": guess}).status_code for _ in range(A_WINDOW + 1)]
    assert answers == [422] * A_WINDOW + [429]
    for right in (clock.code(secret), recovery[0]):
        assert client.post(PROVE, {"code": right}).status_code == 429


@pytest.mark.usefixtures("dead_cache")
def test_requests_for_a_new_password_are_counted(desk: Desk) -> None:
    answers = [
        Client().post(ASK, {"email": f"n{number}@example.org"}).status_code for number in range(9)
    ]
    assert answers == [302] * LIMIT + [429] * 3
    elsewhere = [Client(REMOTE_ADDR=f"192.0.2.{number}") for number in range(5)]
    assert {each.post(ASK, {"email": "ann@example.org"}).status_code for each in elsewhere} == {302}
    assert OutgoingMail.objects.filter(address="ann@example.org").count() == 3


@pytest.mark.usefixtures("dead_cache")
def test_the_own_password_is_counted_where_it_is_confirmed_or_changed(desk: Desk) -> None:
    client, _ = enter()
    for number in range(LIMIT):
        fields = {"old_password": "wrong", "new_password1": NEW, "new_password2": NEW}
        page, typed = (ACCOUNT, fields) if number % 2 else (CONFIRM, {"password": "wrong"})
        assert client.post(page, typed).status_code == 422
    fields["old_password"] = PASSWORD
    assert client.post(ACCOUNT, fields).status_code == 429
    refused = client.post(CONFIRM, {"password": PASSWORD})
    assert "Too many attempts" in refused.content.decode()


@pytest.mark.usefixtures("dead_cache")
def test_public_reads_go_on_uncounted(settings: Any) -> None:
    settings.DPGEO_REQUESTS_A_MINUTE = 1
    assert [Client().get("/api/v1/releases").status_code for _ in range(3)] == [200] * 3


@contextmanager
def unwritable() -> Iterator[None]:
    """Let the database be read but not written, as a replica or one on a read-only disk."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            before = transaction.savepoint()
            cursor.execute("SET TRANSACTION READ ONLY")
            yield
            transaction.savepoint_rollback(before)
            return
        cursor.execute("PRAGMA query_only = ON")
        try:
            yield
        finally:
            cursor.execute("PRAGMA query_only = OFF")


def test_nothing_is_checked_that_cannot_be_counted(
    desk: Desk, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If accounts can be read but nothing can be counted, right and wrong guesses look the same."""
    secret, recovery = set_up(enter()[0], clock)
    half, (inside, _) = enter()[0], enter()
    inside.post(PROVE, {"code": clock.code(secret)})
    clock.step += 1
    checked: list[str] = []
    monkeypatch.setattr(User, "check_password", lambda *_: checked.append("password"))
    monkeypatch.setattr(codes, "_use", lambda *_: checked.append("code"))
    fields = {"new_password1": NEW, "new_password2": NEW}
    attempts: list[tuple[Client, str, dict[str, str]]] = [
        *(
            (Client(), door, {"username": "owner", "password": word})
            for door in ("/accounts/login/", "/admin/login/")
            for word in (PASSWORD, "wrong")
        ),
        *((half, PROVE, {"code": code}) for code in (clock.code(secret), recovery[0], "000000")),
        *((inside, CONFIRM, {"password": word}) for word in (PASSWORD, "wrong")),
        *((inside, ACCOUNT, {"old_password": word, **fields}) for word in (PASSWORD, "wrong")),
        (Client(), PASSKEY, {"credential": "{}"}),
        (Client(), ASK, {"email": "ann@example.org"}),
    ]
    with unwritable():
        for client, address, typed in attempts:
            client.raise_request_exception = False
            answer = client.post(address, typed)
            assert answer.status_code == 503, address
            assert int(answer["Retry-After"]) > 0
    assert checked == []


GUESSES = """
import os, pathlib, json, django
django.setup()
from django.conf import settings
from django.test import Client
from django.utils import timezone
from dpgeo.accounts.models import User
settings.ALLOWED_HOSTS.append("testserver")
User.objects.create_user("ann", password="right secret words")
disk = pathlib.Path(settings.VAR_DIR)
free = os.statvfs(disk)
with (disk / "filler").open("wb") as file:
    os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_frsize)
client = Client(raise_request_exception=False)
def guess(password):
    typed = f"username=ann&password={password.replace(' ', '+')}"
    form = "application/x-www-form-urlencoded"
    return client.post("/accounts/login/", typed, content_type=form).status_code
print(json.dumps([guess("wrong") for _ in range(40)] + [guess("right secret words")]))
"""


def test_a_full_disk_gives_no_more_guesses(tmp_path: Path) -> None:
    """Database and counters may be on one disk that is full; some guesses may still be counted."""
    with small_disk(tmp_path / "disk", 24 * MIB) as disk:
        (disk.folder / DATABASE).write_bytes(migrated_database())
        run = subprocess.run(
            [sys.executable, "-c", GUESSES],
            cwd=ROOT,
            env={
                "PATH": os.environ["PATH"],
                "DPGEO_VAR": str(disk.folder),
                "DJANGO_SETTINGS_MODULE": "dpgeo.config.settings",
                "DPGEO_FAILED_SIGN_INS": str(LIMIT),
            },
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
    *wrong, right = json.loads(run.stdout)
    assert wrong.count(200) <= LIMIT // 2, wrong
    assert {*wrong} <= {200, 429, 503}
    assert right in {429, 503}


def test_attempts_are_subtracted_and_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):
        forget_attempt("ann", window=WINDOW)  # what an earlier window counted
    assert [count_attempt("ann", 2, window=WINDOW) is None for _ in range(3)] == [True, True, False]
    forget_attempt("ann", window=WINDOW)
    assert count_attempt("ann", 2, window=WINDOW) is None
    attempts_forget()
    assert count_attempt("ann", 2, window=WINDOW) is not None
    AttemptCount.objects.update(ends_at=timezone.now() - timedelta(seconds=1))
    call_command("reap", "--once")
    assert not AttemptCount.objects.exists()


def test_no_name_or_address_is_stored(desk: Desk) -> None:
    sign_in("wrong", name="ann")
    names = AttemptCount.objects.values_list("name", flat=True)
    assert len(names) == 2
    assert all(re.fullmatch("[0-9a-f]{40,64}", each) for each in names)


@pytest.mark.django_db(transaction=True)
def test_concurrent_attempts_are_all_counted() -> None:
    if connection.vendor == "sqlite":
        pytest.skip("the test's SQLite database is in memory, where threads share a connection")

    def attempt(_: int) -> bool:
        try:
            return count_attempt("ann", 10, window=10**9) is None
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(attempt, range(40))) == 10
