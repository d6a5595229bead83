"""Webhooks: signed messages on publication, to a real server, and never into private networks."""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import json
import re
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from dpgeo.accounts.models import Role
from dpgeo.audit.models import Event, EventKind
from dpgeo.core.errors import Conflict, NotAllowed
from dpgeo.releases.services import release_publish, release_reject, release_withdraw
from dpgeo.webhooks import sending
from dpgeo.webhooks.addresses import NAT64, SPECIAL, UNICAST, is_public
from dpgeo.webhooks.models import Delivery, Webhook
from dpgeo.webhooks.sending import Outcome, send
from dpgeo.webhooks.services import (
    WAITS,
    deliveries_wake,
    delivery_repeat,
    delivery_run,
    webhook_create,
    webhook_end,
)
from tests.makers import make_dataset, make_ready, make_release, make_user
from tests.web.desk import Desk, make_desk

pytestmark = pytest.mark.django_db

PAGE = "/desk/webhooks/"


class Receiver:
    """A real HTTP server that stores what it receives and responds with `status`."""

    def __init__(self) -> None:
        self.status = 204
        self.got: list[tuple[dict[str, str], bytes]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append(({k.lower(): v for k, v in self.headers.items()}, body))
                self.send_response(receiver.status)
                if receiver.status == 302:
                    self.send_header("Location", receiver.url)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook?a=1"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    settings.DPGEO_WEBHOOK_PRIVATE = True
    receiver = Receiver()
    yield receiver
    receiver.server.shutdown()
    receiver.server.server_close()


def hook(desk: Desk, url: str) -> tuple[Webhook, str]:
    return webhook_create(organisation=desk.organisation, url=url, by=desk.user)


def run_due() -> list[bool]:
    due = Delivery.objects.filter(due_at__lte=timezone.now()).order_by("created_at")
    return [delivery_run(delivery_id=each.pk) for each in due]


def later(delivery: Delivery) -> None:
    """Make the next attempt to deliver a webhook's message due now."""
    Delivery.objects.filter(pk=delivery.pk).update(due_at=timezone.now())


def is_signed(secret: str, headers: dict[str, str], body: bytes) -> bool:
    """Return whether a signature is valid by the Standard Webhooks specification, without our
    code.
    """
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    digest = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return headers["webhook-signature"] == f"v1,{digest}"


def test_publication_and_withdrawal_send_signed_messages_with_public_facts_alone(
    desk: Desk, receiver: Receiver, tmp_path: Path
) -> None:
    _, secret = hook(desk, receiver.url)
    dataset = make_dataset(desk.organisation)
    make_ready(dataset, tmp_path)
    release, other = make_release(dataset), make_release(dataset)
    release_reject(release=other, by=desk.user, reason="It shows the ferry.")
    release_publish(release=release, by=desk.user)
    release_withdraw(release=release, by=desk.user)
    assert run_due() == [True] * 3
    assert all(is_signed(secret, *each) for each in receiver.got)
    assert not is_signed(secret, receiver.got[0][0], receiver.got[1][1])
    told = [json.loads(body) for _, body in receiver.got]
    kinds = ["ping", "release.published", "release.withdrawn"]
    assert [each["type"] for each in told] == kinds
    assert told[0]["data"] == {}
    assert told[1]["data"] == {"release": release.pk, "dataset": dataset.slug}
    assert all(set(each) == {"type", "timestamp", "data"} for each in told)
    assert abs(int(receiver.got[0][0]["webhook-timestamp"]) - timezone.now().timestamp()) < 60
    assert len({headers["webhook-id"] for headers, _ in receiver.got}) == 3
    assert not Delivery.objects.exclude(due_at=None).exists()


def test_a_failed_publication_sends_nothing(desk: Desk, receiver: Receiver, tmp_path: Path) -> None:
    hook(desk, receiver.url)
    dataset = make_dataset(desk.organisation)
    make_ready(dataset, tmp_path)
    release = make_release(dataset)
    release_publish(release=release, by=desk.user)
    with pytest.raises(Conflict):
        release_publish(release=release, by=desk.user)
    assert Delivery.objects.filter(event="release.published").count() == 1


def test_a_message_is_tried_with_growing_waits_and_then_given_up(
    desk: Desk, receiver: Receiver
) -> None:
    receiver.status = 500
    hook(desk, receiver.url)
    delivery = Delivery.objects.get()
    for wait in WAITS:
        before = timezone.now()
        assert delivery_run(delivery_id=delivery.pk)
        delivery.refresh_from_db()
        assert delivery.due_at is not None
        assert before + wait <= delivery.due_at <= timezone.now() + wait
        assert not delivery_run(delivery_id=delivery.pk)  # not yet due again
        later(delivery)
    assert delivery_run(delivery_id=delivery.pk)
    delivery.refresh_from_db()
    assert (delivery.due_at, delivery.outcome, delivery.delivered_at) == (None, "500", None)
    assert len(receiver.got) == len(WAITS) + 1
    assert len({headers["webhook-id"] for headers, _ in receiver.got}) == 1
    receiver.status = 200
    delivery_repeat(delivery=delivery, by=desk.user)
    with pytest.raises(Conflict):
        delivery_repeat(delivery=delivery, by=desk.user)
    assert delivery_run(delivery_id=delivery.pk)
    delivery.refresh_from_db()
    assert delivery.delivered_at is not None


def test_a_worker_that_dies_while_sending_loses_no_message(
    desk: Desk, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook(desk, receiver.url)
    delivery = Delivery.objects.get()

    def die(*_: object) -> str:
        raise SystemExit

    with monkeypatch.context() as broken:
        broken.setattr("dpgeo.webhooks.services.send", die)
        with pytest.raises(SystemExit):
            delivery_run(delivery_id=delivery.pk)
    assert not delivery_run(delivery_id=delivery.pk)
    later(delivery)
    assert deliveries_wake() == 1
    # A delivery that workers were offered a moment ago is not offered again at once.
    assert deliveries_wake() == 0
    assert delivery_run(delivery_id=delivery.pk)
    assert len(receiver.got) == 1


def test_redirects_are_not_followed(desk: Desk, receiver: Receiver) -> None:
    receiver.status = 302
    hook(desk, receiver.url)
    run_due()
    assert len(receiver.got) == 1
    assert Delivery.objects.get().outcome == "302"


def test_a_deleted_webhook_gets_nothing_more(desk: Desk, receiver: Receiver) -> None:
    webhook, _ = hook(desk, receiver.url)
    webhook_end(webhook=webhook, by=desk.user)
    webhook_end(webhook=webhook, by=desk.user)
    later(Delivery.objects.get())
    assert run_due() == [False]
    assert receiver.got == []
    with pytest.raises(Conflict):
        delivery_repeat(delivery=Delivery.objects.get(), by=desk.user)


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1"),
        *("0.0.0.0", "224.0.0.1", "255.255.255.255", "192.0.2.1"),  # noqa: S104
        *("::1", "::", "fe80::1", "fd00::1", "ff02::1", "::ffff:10.0.0.1", "64:ff9b::7f00:1"),
        *("2002:a00:1::1", "64:ff9b:1::1", "fec0::1", "::127.0.0.1", "::ffff:0:7f00:1"),
        *("192.0.0.8", "192.0.0.9", "192.0.0.170", "192.0.0.255", "192.88.99.1", "240.0.0.1"),
        *("2002:909:909::1", "2001:0:909:909::f6f6:f6f6", "2001:0:4136:e378:8000:63bf:f5ff:fffe"),
        *("2001:1::1", "2001:20::1", "2001:db8::1", "3fff::1", "5f00::1", "100::1", "fec0::1"),
        *("64:ff9b::a00:1", "64:ff9b::c000:8", "64:ff9b:1::909:909", "::ffff:192.0.0.8", "ff0e::1"),
    ],
)
def test_private_addresses_are_refused(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


def test_what_any_python_calls_private_is_refused() -> None:
    """The addresses at both ends of every network that this Python or the table names."""
    named = [*ipaddress._IPv4Constants._private_networks, *SPECIAL, NAT64, UNICAST]  # type: ignore[attr-defined]
    named += [*ipaddress._IPv6Constants._private_networks]  # type: ignore[attr-defined]
    named += [*ipaddress._IPv6Constants._reserved_networks]  # type: ignore[attr-defined]
    assert len(named) > 40
    ends = {each for network in named for each in (network[0], network[-1])}
    near = {each + step for each in ends for step in (-1, 0, 1) if 0 <= int(each) + step < 2**32}
    for address in ends | near:
        known = address in NAT64 or address.is_global
        assert not is_public(address) or (known and not address.is_multicast), address
    assert {network.version for network in SPECIAL} == {4, 6}
    assert not any(is_public(each) for network in SPECIAL for each in (network[0], network[-1]))


@pytest.mark.parametrize(
    "address",
    [
        *("9.9.9.9", "2620:fe::fe", "::ffff:9.9.9.9", "64:ff9b::909:909", "2001:200::1"),
        *("192.0.1.1", "192.31.196.1", "100.63.255.255", "100.128.0.0", "223.255.255.255"),
    ],
)
def test_public_addresses_are_allowed(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


def named(monkeypatch: pytest.MonkeyPatch, *answers: str) -> list[str]:
    """Let each look-up of a host name return the next of the `answers`; return the names looked
    up.
    """
    asked: list[str] = []

    def look_up(host: str, port: int, **_: Any) -> list[Any]:
        asked.append(host)
        text = answers[len(asked) - 1]
        return [(0, 0, 0, "", (each, port)) for each in text.split()]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return asked


def test_nothing_is_sent_to_a_name_with_a_private_address(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*_: object, **__: object) -> None:
        pytest.fail("a connection was made")

    monkeypatch.setattr(socket, "create_connection", connect)
    named(monkeypatch, "127.0.0.1", "9.9.9.9 10.0.0.1", "fe80::1%eth0")
    for _ in range(3):
        assert send("https://hooks.example.org/", b"", {}) == Outcome.PRIVATE


def test_a_name_is_looked_up_once_and_that_address_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = named(monkeypatch, "9.9.9.9", "127.0.0.1")
    reached: list[Any] = []

    def connect(address: Any, **_: object) -> None:
        reached.append(address)
        raise TimeoutError

    monkeypatch.setattr(socket, "create_connection", connect)
    assert send("https://hooks.example.org:8443/a", b"", {}) == Outcome.NO_ANSWER
    assert (asked, reached) == (["hooks.example.org"], [("9.9.9.9", 8443)])


def test_a_server_without_a_valid_certificate_gets_no_message(
    receiver: Receiver,
) -> None:
    https = receiver.url.replace("http:", "https:")
    assert send(https, b"", {}) == Outcome.NO_TLS
    assert receiver.got == []


@pytest.mark.parametrize("answer", [b"no HTTP\r\n\r\n", b"", b"HTTP/1.1 2\r\n", b"H"])
def test_nonsense_and_slow_answers_count_as_none(
    settings: Any, monkeypatch: pytest.MonkeyPatch, answer: bytes
) -> None:
    settings.DPGEO_WEBHOOK_PRIVATE = True
    monkeypatch.setattr(sending, "SECONDS", 0.3)
    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def talk() -> None:
            visitor, _ = server.accept()
            with visitor:
                visitor.recv(65536)
                visitor.sendall(answer)
                if answer == b"H":  # send one byte, then nothing until the sender gives up
                    done.wait(30)

        thread = threading.Thread(target=talk, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        assert send(url, b"", {}) == Outcome.NO_ANSWER
        done.set()
        thread.join()


def test_only_administrators_manage_webhooks(desk: Desk, receiver: Receiver) -> None:
    webhook, _ = hook(desk, receiver.url)
    approver = make_user(desk.organisation, Role.APPROVER)
    with pytest.raises(NotAllowed):
        webhook_create(organisation=desk.organisation, url=receiver.url, by=approver)
    with pytest.raises(NotAllowed):
        webhook_end(webhook=webhook, by=approver)
    with pytest.raises(NotAllowed):
        delivery_repeat(delivery=Delivery.objects.get(), by=approver)
    client = desk.confirmed(desk.signed_in("somebody", role=Role.APPROVER))
    assert client.get(PAGE).status_code == 404
    other = make_desk("Other house", "other")
    assert other.client.post(f"{PAGE}{webhook.pk}/delete/").status_code == 404
    address = f"/desk/deliveries/{Delivery.objects.get().pk}/"
    assert other.client.post(address).status_code == 404
    other.confirmed()
    assert receiver.url not in other.page(PAGE)


def test_the_page_shows_the_secret_once_and_the_deliveries(desk: Desk, receiver: Receiver) -> None:
    typed = {"url": receiver.url, "organisation": str(desk.organisation.pk)}
    assert desk.client.post(PAGE, typed)["Location"].startswith("/desk/account/confirm/")
    assert not Webhook.objects.exists()
    page = desk.confirmed().post(PAGE, typed).content.decode()
    secret = re.search(r"whsec_[\w+/=]+", page)
    assert secret
    run_due()
    assert is_signed(secret[0], *receiver.got[0])
    again = desk.page(PAGE)
    assert "whsec_" not in again
    assert "accepted" in again
    key = base64.b64decode(secret[0].removeprefix("whsec_"))
    (stored,) = Webhook.objects.values_list("nonce", flat=True)
    assert bytes(stored) not in key  # the database does not contain the secret
    assert key not in bytes(stored)
    assert desk.client.post(PAGE, {**typed, "url": "nowhere"}).status_code == 422
    delivery = Delivery.objects.get()
    desk.client.post(f"/desk/deliveries/{delivery.pk}/")
    assert run_due() == [True]
    desk.client.post(f"{PAGE}{delivery.webhook_id}/delete/")
    assert receiver.url not in desk.page(PAGE)


def test_the_audit_list_names_the_host_and_not_the_path(desk: Desk, receiver: Receiver) -> None:
    webhook, _ = hook(desk, receiver.url)
    webhook_end(webhook=webhook, by=desk.user)
    events = Event.objects.filter(kind=EventKind.WEBHOOK)
    assert [(each.subject, each.detail) for each in events] == [
        ("127.0.0.1", "deleted"),
        ("127.0.0.1", "created"),
    ]
