"""Clients as slow as the server allows, and how long other clients wait meanwhile."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
import urllib.request
from collections.abc import Iterator

LARGE_FILE = "/static/large.bin"
LARGE_BYTES = 8 << 20

BEGINNINGS = {
    "headers": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
    "bodies": b"POST /api/v1/plan HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    b"Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n",
    "uploads": b"POST /accounts/login/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: "
    b"multipart/form-data; boundary=x\r\nContent-Length: 30000000\r\n\r\n"
    b'--x\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n',
    "closing": b"GET /healthz HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n",
    "readers": b"GET " + LARGE_FILE.encode() + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
}
"""What a slow client of each kind sends at first; after that the client sends or reads one byte per
second.
"""


@contextlib.contextmanager
def held(port: int, kind: str, number: int) -> Iterator[list[socket.socket]]:
    """Keep `number` slow connections open, and reopen those that the server closes."""
    connections = [_begun(port, kind) for _ in range(number)]
    ended = threading.Event()
    dripping = threading.Thread(target=_drip, args=(port, kind, connections, ended))
    dripping.start()
    try:
        yield connections
    finally:
        ended.set()
        dripping.join()
        for each in connections:
            each.close()


def _begun(port: int, kind: str) -> socket.socket:
    connection = socket.socket()
    if kind == "readers":
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(20)
    with contextlib.suppress(OSError):
        connection.connect(("127.0.0.1", port))
        connection.sendall(BEGINNINGS[kind])
    connection.setblocking(False)
    return connection


def _drip(port: int, kind: str, connections: list[socket.socket], ended: threading.Event) -> None:
    while not ended.wait(1.0):
        for index, each in enumerate(connections):
            if ended.is_set():
                return
            try:
                closed = kind == "readers" and each.recv(1) == b""
                if kind != "readers":
                    each.send(b"x")
            except BlockingIOError:
                continue
            except OSError:
                closed = True
            if closed:
                each.close()
                connections[index] = _begun(port, kind)


def longest_wait(port: int, path: str = "/", times: int = 10, most: float = 30.0) -> float:
    """Return the longest of `times` waits for a page, in seconds, or `most` if a request fails."""
    longest = 0.0
    for _ in range(times):
        began = time.monotonic()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=most) as answer:
                answer.read()
        except OSError:
            return most
        longest = max(longest, time.monotonic() - began)
    return longest
