"""How the web server distributes connections among its processes."""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from threading import Barrier
from typing import Any

import pytest

from dpgeo.config import gunicorn
from dpgeo.config.worker import LARGEST_BUFFERED
from tests.servers import free_port

pytestmark = pytest.mark.services


MILLISECONDS_OF_AN_ANSWER = 5

LOADED_BY = os.getpid()
"""Id of the process that imported this module, and so loaded `application`."""


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """WSGI application that reads the body, works for a while and responds with its process id."""
    environ["wsgi.input"].read()
    until = time.thread_time() + MILLISECONDS_OF_AN_ANSWER / 1000
    while time.thread_time() < until:
        pass
    start_response("200 OK", [("Content-Type", "text/plain"), ("Loaded-By", str(LOADED_BY))])
    return [str(os.getpid()).encode()]


@pytest.fixture
def port() -> Iterator[int]:
    """Serve `application` with the project's settings, and yield the port."""
    number = free_port()
    words = ("-m", "gunicorn", "-c", "python:dpgeo.config.gunicorn", "-b", f"127.0.0.1:{number}")
    with subprocess.Popen([sys.executable, *words, f"{__name__}:application"]) as process:
        try:
            wait_for_every_process(number)
            yield number
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=120)


def wait_for_every_process(port: int) -> None:
    deadline = time.monotonic() + 240
    seen: set[str] = set()
    while len(seen) < gunicorn.workers:
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


def test_the_application_is_loaded_once_for_all_processes(port: int) -> None:
    """The process that loads the application serves no request; its copies do."""
    seen: dict[str, str] = {}
    deadline = time.monotonic() + 240
    while len(seen) < gunicorn.workers:
        assert time.monotonic() < deadline
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        with contextlib.closing(connection):
            connection.request("GET", "/")
            answer = connection.getresponse()
            seen[answer.read().decode()] = answer.getheader("Loaded-By") or ""
    assert len(set(seen.values())) == 1
    assert not {*seen} & {*seen.values()}


@pytest.mark.parametrize("length", [1000, LARGEST_BUFFERED + 1])
def test_slow_bodies_that_are_read_do_not_hold_the_threads_of_readers(
    port: int, length: int
) -> None:
    head = f"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {length}\r\n\r\nx"
    with contextlib.ExitStack() as slow:
        for _ in range(gunicorn.workers * (gunicorn.threads + 1)):
            connection = slow.enter_context(socket.create_connection(("127.0.0.1", port)))
            connection.sendall(head.encode())
        time.sleep(0.5)
        began = time.monotonic()
        ask_again_and_again(port, 5)
        assert time.monotonic() - began < 1
