"""How the web server distributes connections among its processes."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from dpgeo.api.problem_kinds import ADDRESS_TOO_LONG, MEDIA_TYPE
from dpgeo.commands.web_server import (
    MAX_ADDRESS_BYTES,
    MAX_BUFFERED_BYTES,
    PROCESSES,
    READER_THREADS,
)
from tests.servers import free_port

pytestmark = pytest.mark.services

CONNECTIONS = 16

SLOW_BYTES = 8 << 20

MILLISECONDS_OF_AN_ANSWER = 5

LOADED_BY = os.getpid()
"""Id of the process that imported this module, and so loaded `application`."""


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """WSGI application that reads the body, works for a while and responds with its process id."""
    environ["wsgi.input"].read()
    if environ["PATH_INFO"] == "/slow":
        time.sleep(1)
        start_response("200 OK", [("Content-Length", str(SLOW_BYTES))])
        return [bytes(SLOW_BYTES)]
    until = time.thread_time() + MILLISECONDS_OF_AN_ANSWER / 1000
    while time.thread_time() < until:
        pass
    start_response("200 OK", [("Content-Type", "text/plain"), ("Loaded-By", str(LOADED_BY))])
    return [str(os.getpid()).encode()]


SERVER = """
import os, sys
from functools import partial
from dpgeo.commands.supervisor import Copy, Supervisor
from dpgeo.commands import web_server
from tests.services import test_web_workers as loaded

listener = web_server.listen("127.0.0.1", int(sys.argv[1]))
serve = partial(web_server.serve, loaded.application, listener)
copies = [Copy(f"Web {number}", (), work=serve) for number in range(web_server.PROCESSES)]
Supervisor(copies, say=print).run()
"""
"""Program that serves `application` as `manage.py serve` serves the site."""


@pytest.fixture
def port() -> Iterator[int]:
    """Serve `application` with the project's settings, and yield the port."""
    number = free_port()
    with subprocess.Popen([sys.executable, "-c", SERVER, str(number)]) as process:
        try:
            wait_for_every_process(number)
            yield number
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=120)


def wait_for_every_process(port: int) -> None:
    deadline = time.monotonic() + 240
    seen: set[str] = set()
    while len(seen) < PROCESSES:
        assert time.monotonic() < deadline
        with contextlib.suppress(OSError):
            seen.add(ask_again_and_again(port, 1)[0])


def ask_again_and_again(port: int, times: int, together: Barrier | None = None) -> list[str]:
    """Send requests on one open connection, and return the process id of each response.

    With the barrier `together`, requests start when all clients have connected.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    with contextlib.closing(connection):
        if together:
            together.wait(timeout=240)
        answers = []
        for _ in range(times):
            connection.request("GET", "/")
            answers.append(connection.getresponse().read().decode())
        return answers


def test_simultaneous_connections_are_shared_among_the_processes(port: int) -> None:
    rounds = [shares(port) for _ in range(3)]
    fewest = sum(min(counts.values()) if len(counts) == PROCESSES else 0 for counts in rounds)
    assert fewest >= len(rounds) * READER_THREADS, rounds


def test_the_application_is_loaded_once_for_all_processes(port: int) -> None:
    """The process that loads the application serves no request; its copies do."""
    seen: dict[str, str] = {}
    deadline = time.monotonic() + 240
    while len(seen) < PROCESSES:
        assert time.monotonic() < deadline
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        with contextlib.closing(connection):
            connection.request("GET", "/")
            answer = connection.getresponse()
            seen[answer.read().decode()] = answer.getheader("Loaded-By") or ""
    assert len(set(seen.values())) == 1
    assert not {*seen} & {*seen.values()}


def test_a_request_under_way_is_answered_when_the_server_stops(port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    with contextlib.closing(connection):
        connection.request("GET", "/slow")
        time.sleep(0.3)
        number = int(ask_again_and_again(port, 1)[0])
        parent = int(Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(parent, signal.SIGTERM)
        answer = connection.getresponse()
        assert answer.status == 200
        assert len(answer.read()) == SLOW_BYTES


def test_an_address_too_long_is_refused_with_a_problem_that_says_what_to_do(port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    with contextlib.closing(connection):
        connection.request("GET", "/" + "x" * MAX_ADDRESS_BYTES)
        answer = connection.getresponse()
        assert (answer.status, answer.getheader("Content-Type")) == (414, MEDIA_TYPE)
        assert json.loads(answer.read()) == ADDRESS_TOO_LONG.document()
    ask_again_and_again(port, 1)


def shares(port: int) -> Counter[str]:
    """Open several connections at once, and return how many of them each process served."""
    together = Barrier(CONNECTIONS)
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        futures = [pool.submit(ask_again_and_again, port, 20, together) for _ in range(CONNECTIONS)]
        answers = [each.result(timeout=240) for each in futures]
    assert all(len(set(each)) == 1 for each in answers), "a connection stays where it is"
    return Counter(each[0] for each in answers)


def test_a_connection_opened_when_all_threads_are_busy_is_answered_soon(port: int) -> None:
    """One response lets a waiting connection in, even if the busy clients keep sending requests."""
    with ThreadPoolExecutor(CONNECTIONS + 1) as pool:
        busy = [pool.submit(ask_again_and_again, port, 60) for _ in range(CONNECTIONS)]
        time.sleep(0.2)
        late = pool.submit(ask_again_and_again, port, 1)
        late.result(timeout=240)
        assert not any(each.done() for each in busy)
        for each in busy:
            each.result(timeout=240)


@pytest.mark.parametrize("length", [1000, MAX_BUFFERED_BYTES + 1])
def test_slow_bodies_that_are_read_do_not_hold_the_threads_of_readers(
    port: int, length: int
) -> None:
    head = f"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {length}\r\n\r\nx"
    with contextlib.ExitStack() as slow:
        for _ in range(PROCESSES * (READER_THREADS + 1)):
            connection = slow.enter_context(socket.create_connection(("127.0.0.1", port)))
            connection.sendall(head.encode())
        time.sleep(0.5)
        began = time.monotonic()
        ask_again_and_again(port, 5)
        assert time.monotonic() - began < 1
