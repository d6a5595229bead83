"""Request limits: nobody can block others, and if counting fails, nobody is blocked."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.cache import caches
from django.test import Client

from dpgeo.accounts.models import Scope
from dpgeo.accounts.services import key_create
from dpgeo.api import throttling
from tests.web.desk import make_desk
from tests.web.published import install, make_dataset

pytestmark = pytest.mark.django_db

ADDRESS = "/api/v1/mechanisms"


@pytest.fixture(autouse=True)
def _three_a_minute(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    caches["throttle"].clear()
    settings.DPGEO_REQUESTS_A_MINUTE = 3
    settings.DPGEO_KEY_REQUESTS_A_MINUTE = 5
    monkeypatch.setattr(throttling, "SECONDS_A_REQUEST", 1e9)
    monkeypatch.setattr("time.time", lambda: 1_790_000_000.0)  # 20 seconds into a minute


def statuses(number: int, **extra: Any) -> list[int]:
    client = Client()
    return [client.get(ADDRESS, **extra).status_code for _ in range(number)]


def test_an_address_over_the_limit_is_told_when_to_try_again(client: Client) -> None:
    assert statuses(4) == [200, 200, 200, 429]
    refused = client.get(ADDRESS)
    assert refused["Content-Type"] == "application/problem+json"
    assert refused["Retry-After"] == "40"
    assert json.loads(refused.content)["type"] == "/api/docs#too-many-requests"


def test_another_address_is_still_served() -> None:
    assert statuses(4)[-1] == 429
    assert statuses(1, REMOTE_ADDR="192.0.2.7") == [200]


def test_one_customers_ipv6_addresses_count_as_one() -> None:
    for last in (1, 2, 3):
        assert statuses(1, REMOTE_ADDR=f"2001:db8:0:1::{last}") == [200]
    assert statuses(1, REMOTE_ADDR="2001:db8:0:1::4") == [429]
    assert statuses(1, REMOTE_ADDR="2001:db8:0:2::1") == [200]


def test_visitors_by_ipv4_do_not_count_as_one_where_ipv6_is_served_too() -> None:
    """A socket for both writes the addresses of IPv4 as ones of IPv6, all in one network of /64."""
    assert statuses(4, REMOTE_ADDR="::ffff:192.0.2.7") == [200, 200, 200, 429]
    assert statuses(1, REMOTE_ADDR="::ffff:192.0.2.8") == [200]
    assert statuses(1, REMOTE_ADDR="192.0.2.7") == [429]


@pytest.mark.parametrize("form", ["192.0.2.7:{port}", "[2001:db8::1]:{port}"])
def test_a_port_that_a_proxy_adds_is_no_part_of_the_address(form: str) -> None:
    ports = [statuses(1, REMOTE_ADDR=form.format(port=port))[0] for port in (1, 22, 333, 65535)]
    assert ports == [200, 200, 200, 429]


def test_a_forgeable_header_is_not_taken_for_the_address() -> None:
    forged = [statuses(1, HTTP_X_FORWARDED_FOR=f"192.0.2.{n}")[0] for n in range(4)]
    assert forged == [200, 200, 200, 429]


def test_the_next_minute_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    assert statuses(4)[-1] == 429
    monkeypatch.setattr(throttling, "SECONDS_A_REQUEST", 1e9)
    monkeypatch.setattr("time.time", lambda: 1_790_000_041.0)
    assert statuses(1) == [200]


def test_a_key_is_counted_apart_from_its_address() -> None:
    desk = make_desk()
    secrets = [
        key_create(
            organisation=desk.organisation,
            name=name,
            scopes=[Scope.JOBS_READ],
            created_by=desk.user,
        )[1]
        for name in ("one", "two")
    ]
    assert statuses(4)[-1] == 429
    first, second = ({"HTTP_AUTHORIZATION": f"Bearer {secret}"} for secret in secrets)
    assert statuses(6, **first) == [200] * 5 + [429]
    assert statuses(1, **second) == [200]


def test_guessing_keys_counts_for_the_address() -> None:
    wrong = {"HTTP_AUTHORIZATION": "Bearer dpg_wrong"}
    assert statuses(4, **wrong) == [401, 401, 401, 429]
    assert statuses(1) == [429]


def test_requests_for_files_are_not_limited(client: Client) -> None:
    release = install(make_dataset())
    for _ in range(5):
        assert client.get(f"/api/v1/releases/{release.pk}/files/map.bin").status_code == 200


def test_no_address_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    stored: list[str] = []
    add = caches["throttle"].add

    def remember(name: str, *values: Any, **more: Any) -> bool:
        stored.append(name)
        return add(name, *values, **more)

    monkeypatch.setattr(caches["throttle"], "add", remember)
    assert statuses(1, REMOTE_ADDR="192.0.2.9") == [200]
    assert len(stored) == 1
    assert "192.0.2.9" not in stored[0]


def test_a_failing_cache_blocks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ConnectionError

    monkeypatch.setattr(caches["throttle"], "incr", fail)
    assert statuses(5) == [200] * 5


def test_processor_time_counts_as_further_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttling, "SECONDS_A_REQUEST", 0.05)
    moments = iter([0.0, 0.12, *[1.0] * 20])
    monkeypatch.setattr("time.thread_time", lambda: next(moments))
    assert statuses(2) == [200, 429]


def test_a_header_that_holds_no_key_does_not_hide_processor_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(throttling, "SECONDS_A_REQUEST", 0.05)
    moments = iter([0.0, 0.12, *[1.0] * 20])
    monkeypatch.setattr("time.thread_time", lambda: next(moments))
    assert statuses(2, HTTP_AUTHORIZATION="Basic bm9ib2R5") == [200, 429]
