"""Connections with deadlines and minimum transfer rates."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpgeo.config import paced_socket
from dpgeo.config.paced_socket import PacedSocket, TooSlow

Pair = tuple[PacedSocket, socket.socket]


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pair]:
    """Yield the server's and the client's end of a connection.

    All time limits are a hundredth of the real ones.
    """
    monkeypatch.setattr(paced_socket, "HEADER_SECONDS", 0.1)
    monkeypatch.setattr(paced_socket, "GRACE_SECONDS", 0.15)
    monkeypatch.setattr(paced_socket, "LEAST_RATE", 100 * 1024)
    ours, theirs = socket.socketpair()
    with contextlib.closing(ours), contextlib.closing(theirs):
        yield PacedSocket(ours), theirs


def read_for_ever(ours: PacedSocket) -> None:
    while True:
        ours.recv(100)


def test_a_header_has_a_deadline_however_it_drips(pair: Pair) -> None:
    ours, theirs = pair
    ended = threading.Event()

    def drip() -> None:
        while not ended.wait(0.01):
            theirs.send(b"x")

    dripping = threading.Thread(target=drip)
    dripping.start()
    ours.expect_header()
    with pytest.raises(TooSlow):
        read_for_ever(ours)
    ended.set()
    dripping.join()


def test_a_body_that_is_slower_than_the_least_rate_ends(pair: Pair) -> None:
    ours, _ = pair
    ours.expect_body()
    with pytest.raises(TooSlow):
        ours.recv(100)
    with pytest.raises(TooSlow):
        ours.recv(100)


def test_what_arrives_earns_time_and_what_the_server_does_is_free(pair: Pair) -> None:
    ours, theirs = pair
    ours.expect_body()
    for _ in range(4):
        timer = threading.Timer(0.08, theirs.send, [bytes(20_000)])
        timer.start()
        assert len(ours.recv(20_000)) == 20_000
        timer.join()
    time.sleep(0.2)
    theirs.send(b"x")
    assert ours.recv(1) == b"x"


def test_a_connection_ends_if_its_reader_stops_reading(pair: Pair, tmp_path: Path) -> None:
    ours, _ = pair
    ours.expect_body()
    with pytest.raises(TooSlow):
        ours.sendall(bytes(50_000_000))
    ours.expect_body()
    (tmp_path / "file").write_bytes(bytes(1_000_000))
    with (tmp_path / "file").open("rb") as file, pytest.raises(TooSlow):
        ours.sendfile(file)


def test_a_part_of_a_file_arrives_whole(pair: Pair, tmp_path: Path) -> None:
    ours, theirs = pair
    content = os.urandom(3_000_000)
    (tmp_path / "file").write_bytes(content)
    received: list[bytes] = []

    def read() -> None:
        while part := theirs.recv(1 << 16):
            received.append(part)

    reading = threading.Thread(target=read)
    reading.start()
    ours.expect_body()
    with (tmp_path / "file").open("rb") as file:
        assert ours.sendfile(file, offset=5, count=2_000_000) == 2_000_000
    ours.shutdown(socket.SHUT_RDWR)
    reading.join()
    assert b"".join(received) == content[5:2_000_005]
