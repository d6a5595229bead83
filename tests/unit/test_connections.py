"""Connections of the web server, driven over real sockets."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from waitress import wasyncore

from dpgeo.api.problem_kinds import ADDRESS_TOO_LONG, BUSY
from dpgeo.commands import connections, web_server
from dpgeo.commands.connections import ABOUT_UPLOADS
from dpgeo.commands.web_server import MAX_ADDRESS_BYTES, MAX_BUFFERED_BYTES, UPLOAD_THREADS

PIECE = "/api/v1/uploads/5/tus"
READ = 1000


class Application:
    """WSGI application that answers with the number of bytes it could read, in pieces."""

    def __init__(self) -> None:
        self.reads: list[int] = []
        self.broke_off = threading.Event()
        self.gate = threading.Event()
        self.gate.set()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Read the body and answer, unless the query says otherwise."""
        self.gate.wait(30)
        if environ["QUERY_STRING"] == "refuse":
            start_response("401 Unauthorized", [("Content-Length", "2")])
            return [b"no"]
        self.reads.clear()
        try:
            while part := environ["wsgi.input"].read(READ):
                self.reads.append(len(part))
        except ConnectionResetError:
            self.broke_off.set()
        body = f"{sum(self.reads)} {environ.get('HTTP_X_FORWARDED_FOR')}".encode()
        start_response("200 OK", [("Content-Length", str(len(body)))])
        return [body]


@pytest.fixture
def application() -> Application:
    return Application()


@pytest.fixture
def port(application: Application, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Serve the application in a thread, with time limits of half a second, and yield the port."""
    monkeypatch.setattr(connections, "GRACE_SECONDS", 0.5)
    monkeypatch.setattr(connections, "LINGER_SECONDS", 0.5)
    listener = web_server.listen("127.0.0.1", 0)
    sockets: dict[int, Any] = {}
    server = web_server.make_server(application, listener, sockets)
    ended = threading.Event()

    def run() -> None:
        while not ended.is_set():
            wasyncore.loop(timeout=0.05, use_poll=True, map=sockets, count=1)

    running = threading.Thread(target=run)
    running.start()
    yield listener.getsockname()[1]
    application.gate.set()
    ended.set()
    running.join()
    server.task_dispatcher.shutdown()
    wasyncore.close_all(sockets)


def opened(port: int, head: str, *lines: str) -> socket.socket:
    """Connect and send the beginning of a request."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=20)
    connection.sendall("\r\n".join([head, "Host: x", *lines, "", ""]).encode())
    return connection


def rest(connection: socket.socket) -> bytes:
    """Return all that is received until the server closes the connection."""
    parts = []
    while part := connection.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)


def ended_within(connection: socket.socket, seconds: float) -> bool:
    """Return whether the server ends the connection in time, however it does so."""
    connection.settimeout(seconds)
    try:
        rest(connection)
    except TimeoutError:
        return False
    except ConnectionError:
        return True
    return True


def put(port: int, length: int, path: str = PIECE) -> tuple[int, bytes]:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    with contextlib.closing(client):
        client.request("PUT", path, bytes(length))
        answer = client.getresponse()
        return answer.status, answer.read()


@pytest.mark.parametrize("length", [0, 1, 999, MAX_BUFFERED_BYTES, MAX_BUFFERED_BYTES + 1, 9 << 20])
def test_a_body_is_read_whole(port: int, length: int) -> None:
    assert put(port, length) == (200, f"{length} None".encode())


def test_a_large_upload_is_refused_before_it_is_sent(port: int) -> None:
    with opened(port, f"PUT {PIECE}?refuse HTTP/1.1", f"Content-Length: {20 << 30}") as connection:
        assert rest(connection).startswith(b"HTTP/1.1 401 ")


def test_a_client_that_sends_on_after_a_refusal_still_gets_it(port: int) -> None:
    assert put(port, 20 << 20, f"{PIECE}?refuse") == (401, b"no")


def test_a_large_body_elsewhere_is_not_received(port: int, application: Application) -> None:
    with opened(port, "PUT / HTTP/1.1", f"Content-Length: {20 << 30}") as connection:
        assert rest(connection).endswith(b"0 None")
    assert application.broke_off.is_set()


def test_a_client_that_asks_is_told_to_send_an_upload(port: int) -> None:
    lines = (f"Content-Length: {5 << 20}", "Expect: 100-continue")
    with opened(port, f"PUT {PIECE} HTTP/1.1", *lines) as connection:
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(bytes(5 << 20))
        assert rest(connection).endswith(f"{5 << 20} None".encode())


@pytest.mark.parametrize("sent", [0, 1, 100, READ, 2500])
@pytest.mark.parametrize("slow", [False, True])
def test_what_arrived_of_a_piece_is_kept_when_it_breaks_off(
    port: int, application: Application, sent: int, slow: bool
) -> None:
    lines = ("Content-Length: 5000", "Content-Type: application/offset+octet-stream")
    with opened(port, f"PATCH {PIECE} HTTP/1.1", *lines) as connection:
        connection.sendall(bytes(sent))
        if not slow:
            connection.shutdown(socket.SHUT_WR)
        assert application.broke_off.wait(20)
    assert sum(application.reads) == sent


def test_a_request_after_an_upload_is_never_taken_from_its_body(port: int) -> None:
    """A refused body holds what looks like a second request, which must not be answered."""
    hidden = b"GET /second HTTP/1.1\r\nHost: x\r\n\r\n"
    lines = (f"Content-Length: {5 << 20}",)
    with opened(port, f"PUT {PIECE}?refuse HTTP/1.1", *lines) as connection:
        connection.sendall(hidden * 10)
        assert rest(connection).count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize(
    "lines",
    [
        ("Content-Length: 5", "Content-Length: 6"),
        ("Content-Length: +5",),
        ("Transfer-Encoding: gzip",),
        ("Transfer-Encoding: chunked, gzip",),
        ("Transfer-Encoding: chunked", "Content-Length: 5"),
    ],
)
def test_a_request_whose_length_is_doubtful_is_refused(port: int, lines: tuple[str, ...]) -> None:
    with opened(port, "POST / HTTP/1.1", *lines) as connection:
        assert rest(connection)[9:12] in {b"400", b"501"}


@pytest.mark.parametrize("length", [(), ("Content-Length: 5",), (f"Content-Length: {9 << 20}",)])
@pytest.mark.parametrize("version", ["1.0", "1.2"])
@pytest.mark.parametrize("path", ["/", PIECE])
def test_a_transfer_encoding_is_refused_in_a_version_that_has_none(
    port: int, length: tuple[str, ...], version: str, path: str
) -> None:
    """The body would be taken for a second request, or for the first one by a proxy in front."""
    kind = "Content-Type: application/offset+octet-stream"
    lines = (kind, "Connection: keep-alive", "Transfer-Encoding: chunked", *length)
    body = ("", "0\r\n\r\nGET /second HTTP/1.1", "Host: x")
    with opened(port, f"PATCH {path} HTTP/{version}", *lines, *body) as connection:
        answer = rest(connection)
    assert answer[9:12] == b"400"
    assert answer.count(b"HTTP/1.") == 1


def test_a_header_with_an_underscore_does_not_replace_the_proxys(port: int) -> None:
    lines = ("X-Forwarded-For: 192.0.2.1", "X_Forwarded_For: 192.0.2.2", "Connection: close")
    with opened(port, "GET / HTTP/1.1", *lines) as connection:
        assert rest(connection).endswith(b"0 192.0.2.1")


@pytest.mark.parametrize("drip", [b"x", b""])
@pytest.mark.parametrize(
    "head", ["GET / HTTP/1.1\r\nX: ", "POST / HTTP/1.1\r\nContent-Length: 99999\r\n\r\n"]
)
def test_a_request_that_arrives_too_slowly_is_given_up(port: int, head: str, drip: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(head.encode())
        until = time.monotonic() + 20
        with contextlib.suppress(ConnectionError):
            while time.monotonic() < until and not ended_within(connection, 0.05):
                connection.sendall(drip)
        assert time.monotonic() < until


def test_an_upload_that_arrives_too_slowly_is_given_up(port: int, application: Application) -> None:
    with opened(port, f"PUT {PIECE} HTTP/1.1", f"Content-Length: {5 << 20}") as connection:
        connection.sendall(b"x")
        assert application.broke_off.wait(20)
        assert ended_within(connection, 20)


def test_an_address_that_is_too_long_is_refused_with_the_remedy(port: int) -> None:
    status, body = put(port, 0, "/" + "x" * MAX_ADDRESS_BYTES)
    assert (status, json.loads(body)) == (414, ADDRESS_TOO_LONG.document())


def test_readers_do_not_wait_for_uploads(port: int, application: Application) -> None:
    application.gate.clear()
    with ThreadPoolExecutor(UPLOAD_THREADS + 1) as pool:
        uploads = [pool.submit(put, port, 10) for _ in range(UPLOAD_THREADS + 1)]
        refused = next(filter(None, iter(lambda: done(uploads), None)))
        assert refused[0] == 503
        assert json.loads(refused[1]) == BUSY.document()
        reading = pool.submit(put, port, 0, "/" + "x" * (MAX_ADDRESS_BYTES + 1))
        assert reading.result(timeout=20)[0] == 414
        application.gate.set()
        assert sorted(each.result(timeout=60)[0] for each in uploads)[-2:] == [200, 503]


def done(uploads: list[Any]) -> tuple[Any, ...]:
    """Return the answer to the first request that has one."""
    time.sleep(0.05)
    return next((each.result() for each in uploads if each.done()), ())


@pytest.mark.parametrize(
    ("path", "about"),
    [
        ("/api/v1/plan", False),
        ("/desk/uploads/5/columns/", True),
        ("/api/v1/uploads/5/preview", True),
        ("/de/desk/datasets/walks/upload/", True),
        ("/desk/datasets/walks/", False),
    ],
)
def test_uploads_and_looks_into_them_are_told_apart(path: str, about: bool) -> None:
    assert bool(ABOUT_UPLOADS.match(path)) is about
