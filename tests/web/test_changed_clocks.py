"""A clock that was ahead and is set right keeps no sign-in, proof or signed token valid."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.core import signing
from django.test import Client, RequestFactory

from dpgeo.accounts import devices
from dpgeo.accounts.fresh_tokens import CLOCKS_APART, FreshSigner, is_younger, seal, unseal
from dpgeo.pages.desk import confirming
from tests.web.desk import PASSWORD, Desk
from tests.web.test_second_factor import PROVE, Clock, enter, set_up

pytestmark = pytest.mark.django_db

HOUR = 3600
APP = "/desk/account/second-factor/app/"


class WrongClock:
    """The machine's clock, which a test can set ahead or back."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ahead = 0.0
        real = time.time
        monkeypatch.setattr("time.time", lambda: real() + self.ahead)


@pytest.fixture
def wrong_clock(monkeypatch: pytest.MonkeyPatch) -> WrongClock:
    return WrongClock(monkeypatch)


def test_only_times_that_are_past_are_recent(wrong_clock: WrongClock) -> None:
    now = time.time()
    assert is_younger(now - 1, 300)
    assert not is_younger(now - 301, 300)
    wrong_clock.ahead = -1
    assert not is_younger(now, 300)


def test_a_confirmed_password_is_confirmed_for_five_minutes_alone(
    desk: Desk, wrong_clock: WrongClock
) -> None:
    """Small steps back end the confirmation, and large ones the session, whose age is unknown."""
    client, _ = enter()
    assert client.get(APP).status_code == 200
    wrong_clock.ahead = -CLOCKS_APART / 2
    assert client.get(APP)["Location"].startswith("/desk/account/confirm/")
    assert client.get("/desk/").status_code == 200
    wrong_clock.ahead = -HOUR
    assert client.get("/desk/")["Location"].startswith("/accounts/login/")
    wrong_clock.ahead = 301
    assert client.get(APP)["Location"].startswith("/desk/account/confirm/")


def test_kept_entries_do_not_outlast_a_changed_clock(desk: Desk, wrong_clock: WrongClock) -> None:
    page = "/desk/members/invented-house/"
    for ahead, is_kept in ((0.0, True), (-CLOCKS_APART / 2, False)):
        wrong_clock.ahead = 0
        client, _ = enter()
        session = client.session
        for record in session["account_authentication_methods"]:
            record["at"] -= confirming.RECENTLY
        session.save()
        client.post(page, {"email": "dan@example.org", "role": "steward"})
        wrong_clock.ahead = ahead
        client.post("/desk/account/confirm/", {"password": PASSWORD})
        assert ("dan@example.org" in client.get(page).content.decode()) == is_kept


def test_a_half_finished_sign_in_ends(
    desk: Desk, wrong_clock: WrongClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    secret, _ = set_up(enter()[0], clock)
    client, _ = enter()
    wrong_clock.ahead = -HOUR
    assert client.post(PROVE, {"code": clock.code(secret)})["Location"] != "/desk/"
    assert client.get("/desk/").status_code == 302


def test_sealed_facts_are_not_from_the_future(wrong_clock: WrongClock) -> None:
    wrong_clock.ahead = HOUR
    text, ticket = seal({"user": 1}, salt="x"), FreshSigner(salt="x").sign("ticket")
    assert unseal(text, salt="x", max_age=60) == {"user": 1}
    wrong_clock.ahead = 0
    for max_age in (60, 2 * HOUR):
        with pytest.raises(signing.SignatureExpired):
            unseal(text, salt="x", max_age=max_age)
        with pytest.raises(signing.SignatureExpired):
            FreshSigner(salt="x").unsign(ticket, max_age=max_age)
    with pytest.raises(signing.BadSignature):
        unseal(text, salt="y", max_age=60)
    wrong_clock.ahead = HOUR + 61
    with pytest.raises(signing.SignatureExpired):
        unseal(text, salt="x", max_age=60)


def test_a_device_from_the_future_is_unknown(desk: Desk, wrong_clock: WrongClock) -> None:
    device = Client()
    wrong_clock.ahead = HOUR
    device.post("/accounts/login/", {"username": "owner", "password": PASSWORD})
    request: Any = RequestFactory().get("/")
    request.COOKIES["dpgeo_device"] = device.cookies["dpgeo_device"].value
    assert devices.device_name(request, "owner")
    wrong_clock.ahead = 0
    assert devices.device_name(request, "owner") is None
