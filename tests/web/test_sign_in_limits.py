"""Limits on password attempts, which the owners' pages and the admin share."""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import caches
from django.core.management import call_command
from django.http import HttpResponse
from django.test import Client, RequestFactory

from dpgeo.accounts import devices
from dpgeo.accounts.file_cache import CountsInFiles
from dpgeo.accounts.models import AttemptCount, User

pytestmark = pytest.mark.django_db

DESK, ADMINISTRATION = "/accounts/login/", "/admin/login/"
PASSWORD = "right secret words"  # noqa: S105


@pytest.fixture(autouse=True)
def _six_attempts(settings: Any) -> None:
    settings.DPGEO_FAILED_SIGN_INS = 6
    User.objects.create_superuser("ann", "ann@example.org", PASSWORD)


def attempt(name: str, password: str, door: str = DESK, address: str = "192.0.2.1") -> Any:
    return Client(REMOTE_ADDR=address).post(door, {"username": name, "password": password})


@pytest.mark.parametrize("door", [DESK, ADMINISTRATION])
def test_the_right_password_no_longer_opens_after_too_many_wrong_ones(door: str) -> None:
    for number in range(6):
        answer = attempt(f"nobody-{number}", "wrong", door)
        assert answer.status_code == 200
    refused = attempt("ann", PASSWORD, door)
    assert refused.status_code == 429
    assert 0 < int(refused["Retry-After"]) <= 900
    assert "Too many attempts to sign in" in refused.content.decode()
    assert "sessionid" not in refused.cookies
    assert "dpgeo_session" not in refused.cookies
    assert attempt("ann", PASSWORD, door, "192.0.2.2").status_code == 302


def test_attempts_from_many_addresses_and_on_both_pages_count_together() -> None:
    doors = [DESK, ADMINISTRATION, DESK]
    for number, (door, name) in enumerate(zip(doors, ["ann", "Ann", "ANN"], strict=True)):
        assert attempt(name, "wrong", door, f"192.0.2.{number}").status_code == 200
    assert attempt("ann", PASSWORD, address="192.0.2.9").status_code == 429
    assert attempt("ann", PASSWORD, ADMINISTRATION, "192.0.2.9").status_code == 429


def test_a_name_without_an_account_gets_the_same_message() -> None:
    pages = []
    for name in ("ann", "nobody"):
        for number in range(3):
            attempt(name, "wrong", address=f"198.51.100.{number}")
        refused = attempt(name, "wrong", address="192.0.2.9")
        pages.append(refused.content.decode().split('role="alert"')[1].split("</div>")[0])
        AttemptCount.objects.all().delete()
    assert pages[0] == pages[1]
    assert "Too many" in pages[0]


def test_frequent_sign_ins_are_allowed_and_reset_no_failed_attempts() -> None:
    for _ in range(8):
        assert attempt("ann", PASSWORD).status_code == 302
    for number in range(6):
        assert attempt(f"bob-{number}", "wrong").status_code == 200
        assert attempt("ann", PASSWORD).status_code == (302 if number < 5 else 429)


def signed_in_before(door: str = DESK) -> Client:
    """Return a browser in which the user ann has already signed in, at the URL `door`, and out."""
    device = Client(REMOTE_ADDR="192.0.2.1")
    assert device.post(door, {"username": "ann", "password": PASSWORD}).status_code == 302
    device.post("/accounts/logout/")
    assert "dpgeo_device" in device.cookies
    return device


def lock_out() -> None:
    for number in range(9):
        attempt("ann", "wrong", address=f"198.51.100.{number}")
        attempt("nobody", "wrong")
    assert attempt("ann", PASSWORD, address="203.0.113.7").status_code == 429


def enter(device: Client, password: str = PASSWORD, door: str = DESK, name: str = "ann") -> int:
    return int(device.post(door, {"username": name, "password": password}).status_code)


@pytest.mark.parametrize("door", [DESK, ADMINISTRATION])
def test_a_locked_account_can_be_entered_from_a_device_that_signed_in_before(door: str) -> None:
    device = signed_in_before(door)
    lock_out()
    assert enter(device, door=door) == 302


def test_a_known_device_has_no_more_attempts_than_anybody() -> None:
    device = signed_in_before()
    assert [enter(device, "wrong") for _ in range(4)] == [200, 200, 200, 429]
    assert enter(device) == 429
    # Nobody else is locked out by these attempts.
    assert enter(Client(REMOTE_ADDR="192.0.2.9")) == 302


def test_a_device_is_known_to_one_account_and_one_password() -> None:
    User.objects.create_superuser("bob", "bob@example.org", PASSWORD)
    device = signed_in_before()
    lock_out()
    for _ in range(3):
        attempt("bob", "wrong", address="203.0.113.9")
    assert enter(device, name="bob") == 429
    user = User.objects.get(username="ann")
    user.set_password("other secret words")
    user.save()
    assert enter(device, "other secret words") == 429


def test_the_device_of_a_similar_name_gives_no_more_guesses() -> None:
    User.objects.create_user("Ann", password=PASSWORD)
    device = Client(REMOTE_ADDR="192.0.2.3")
    assert enter(device, name="Ann") == 302
    device.cookies.pop("dpgeo_session")
    lock_out()
    assert enter(device, name="ann") == 429


@pytest.mark.parametrize("cookie", ["", "x", "ann", "eyJ1c2VyIjoxfQ:1xVGO0:QZEcZes8"])
def test_a_forged_cookie_is_no_device(cookie: str) -> None:
    signed_in_before()
    lock_out()
    stranger = Client(REMOTE_ADDR="203.0.113.7")
    stranger.cookies["dpgeo_device"] = cookie
    assert enter(stranger) == 429


def test_a_device_is_forgotten_after_its_lifetime(monkeypatch: pytest.MonkeyPatch) -> None:
    device = signed_in_before()
    lock_out()
    with monkeypatch.context() as patched:
        patched.setattr(devices, "LIFETIME", timedelta(seconds=-1))
        assert enter(device) == 429
    assert enter(device) == 302


def test_the_cookies_of_one_account_count_as_few_devices() -> None:
    """All cookies of one account count as only a few devices.

    So the number of guesses stays bounded, however many cookies an attacker collects.
    """
    ann = User.objects.get(username="ann")
    keys = set()
    for _ in range(200):
        answer = HttpResponse()
        devices.remember_device(RequestFactory().get("/"), answer, ann)
        cookie = answer.cookies["dpgeo_device"]
        assert (cookie["httponly"], cookie["path"], cookie["samesite"]) == (True, "/", "Lax")
        request = RequestFactory().get("/")
        request.COOKIES["dpgeo_device"] = cookie.value
        keys.add(devices.device_name(request, "ann"))
    assert 1 < len(keys) <= devices.DEVICES
    assert None not in keys


def test_a_device_keeps_its_number_when_it_signs_in_again() -> None:
    device = signed_in_before()

    def number() -> object:
        request = RequestFactory().get("/")
        request.COOKIES["dpgeo_device"] = device.cookies["dpgeo_device"].value
        return devices.device_name(request, "ann")

    before = number()
    assert enter(device) == 302
    assert number() == before


ADDING = """
import sys
from dpgeo.accounts.file_cache import CountsInFiles
counts = CountsInFiles(sys.argv[1], {})
for _ in range(100):
    counts.add("one", 0, 60)
    counts.incr("one")
"""


def test_concurrent_counts_are_not_lost(tmp_path: Path) -> None:
    """Concurrent increments of the attempt counters are not lost.

    Django's own file cache would lose more than half of these 400 increments.
    """
    started = [subprocess.Popen([sys.executable, "-c", ADDING, str(tmp_path)]) for _ in range(4)]
    assert [each.wait(timeout=240) for each in started] == [0] * 4
    assert CountsInFiles(str(tmp_path), {}).get("one") == 400


def test_a_count_expires_on_time_however_often_it_grows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = CountsInFiles(str(tmp_path), {})
    start = time.time()
    counts.add("one", 0, 2 * 3600)
    for minute in (0, 6, 60, 119):
        monkeypatch.setattr("time.time", lambda minute=minute: start + 60 * minute)
        counts.incr("one")
    assert counts.get("one") == 4
    monkeypatch.setattr("time.time", lambda: start + 2 * 3600 + 1)
    assert counts.get("one") is None
    with pytest.raises(ValueError, match="one"):
        counts.incr("one")


def test_the_reaper_deletes_expired_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    backend = "dpgeo.accounts.file_cache.CountsInFiles"
    settings.CACHES = {**settings.CACHES, "throttle": {"BACKEND": backend, "LOCATION": tmp_path}}
    caches["throttle"].add("short", 0, 60)
    caches["throttle"].add("long", 3, 3600)
    in_a_while = time.time() + 120
    monkeypatch.setattr("dpgeo.accounts.file_cache.time.time", lambda: in_a_while)
    call_command("reap", "--once")
    assert len(list(tmp_path.glob("*.count"))) == 1
    assert caches["throttle"].get("long") == 3


def test_attempts_with_many_names_delete_no_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpgeo.accounts.file_cache.MAX_COUNTS", 50)
    counts = CountsInFiles(str(tmp_path), {})
    counts.add("one", 7, 60)
    for number in range(200):
        counts.add(f"name-{number}", 0, 0.001)
        time.sleep(0.001)
    assert counts.get("one") == 7
    for number in range(200):
        counts.add(f"other-{number}", 0, 30)
    assert counts.get("one") == 7
    assert len(list(tmp_path.glob("*.count"))) <= 50
