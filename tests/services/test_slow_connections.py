"""Three hundred slow connections of one kind, which must not keep other readers waiting."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.services.installation import Installation
from tests.services.nginx import nginx_before, shipped
from tests.services.sites import site_of
from tests.services.slow_connections import (
    BEGINNINGS,
    LARGE_BYTES,
    LARGE_FILE,
    held,
    longest_wait,
)

pytestmark = pytest.mark.services

SLOW = 300

MAX_SECONDS = 1.0 if os.environ.get("DPGEO_AUDIT") == "1" else 5.0
"""Longest time, in seconds, that a reader may wait.

More is allowed while other tests run; without limits on slow connections, readers would wait for
20 s.
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Run the web server with a large file, and yield its port."""
    new = Installation(tmp_path_factory.mktemp("slow"))
    # No limit on requests, since the slow clients send many.
    new.environment |= {"DPGEO_REQUESTS_A_MINUTE": "0"}
    static = new.folder / "var" / "static"
    static.mkdir(exist_ok=True)
    (static / Path(LARGE_FILE).name).write_bytes(bytes(LARGE_BYTES))
    with site_of(new) as port:
        yield port


@pytest.fixture(scope="module")
def behind_nginx(site: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Run nginx with the shipped configuration in front of the site, and yield nginx's port."""
    with nginx_before(site, tmp_path_factory.mktemp("nginx"), shipped()) as port:
        yield port


def check(seconds: float, kind: str, front: str) -> None:
    """Report how long a reader waited at most, and fail if it was too long."""
    sys.stderr.write(f"{SLOW} x {kind}, {front}: a reader waited {seconds:.2f} s at most\n")
    assert seconds < MAX_SECONDS


@pytest.mark.parametrize("kind", BEGINNINGS)
def test_slow_connections_do_not_keep_readers_waiting(site: int, kind: str) -> None:
    longest_wait(site)
    with held(site, kind, SLOW):
        time.sleep(2)
        check(longest_wait(site), kind, "the server alone")


@pytest.mark.parametrize("kind", BEGINNINGS)
def test_slow_connections_behind_nginx_do_not_keep_readers_waiting(
    behind_nginx: int, kind: str
) -> None:
    longest_wait(behind_nginx)
    with held(behind_nginx, kind, SLOW):
        time.sleep(2)
        check(longest_wait(behind_nginx), kind, "nginx")


def test_nginx_passes_ranges_lengths_and_limits_of_bodies(behind_nginx: int) -> None:
    range_wanted = f"GET {LARGE_FILE} HTTP/1.0\r\nHost: 127.0.0.1\r\nRange: bytes=5-9\r\n\r\n"
    assert b" 206 " in exchanged(behind_nginx, range_wanted)[:20]
    compressed = "GET /api/v1/mechanisms HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
    assert b"gzip" in exchanged(behind_nginx, f"{compressed}Accept-Encoding: gzip\r\n\r\n")
    head = "POST {} HTTP/1.0\r\nHost: 127.0.0.1\r\nContent-Length: 50000000\r\n\r\n"
    assert b" 413 " in exchanged(behind_nginx, head.format("/api/v1/plan"))[:20]
    upload = head.format("/api/v1/datasets/walks/uploads/tus")
    assert b" 401 " in exchanged(behind_nginx, upload)[:20]


def exchanged(port: int, request: str) -> bytes:
    """Send a request and return everything received until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(request.encode())
        parts = []
        # A server that has not read the whole body resets the connection after its response.
        with contextlib.suppress(ConnectionResetError):
            while part := connection.recv(1 << 16):
                parts.append(part)
    return b"".join(parts)
