"""The web server: waitress, in several processes that share one listening socket.

In each process, one thread receives requests and sends responses without waiting for any
connection, so a slow visitor costs memory and no thread. The threads that run the application get a
request when all of it has arrived, and are free again before its response is sent. Only uploads
are read by the application as they arrive (`commands.connections`).
"""

from __future__ import annotations

import json
import resource
import signal
import socket
import time
from collections.abc import Callable, Iterable
from threading import BoundedSemaphore, Lock
from typing import Any

from waitress import create_server, wasyncore

from dpgeo.api.problem_kinds import ADDRESS_TOO_LONG, BUSY, MEDIA_TYPE, Problem
from dpgeo.commands.connections import ABOUT_UPLOADS, Connection

PROCESSES = 2

READER_THREADS = 4
"""Number of requests that a process computes at a time, apart from those in ABOUT_UPLOADS."""

UPLOAD_THREADS = 16
"""Number of requests about uploads that a process answers at a time."""

MAX_BUFFERED_BYTES = 4 << 20
"""Largest body that is received before the application is asked. Only uploads may be larger."""

MAX_HEADER_BYTES = 64 << 10
MAX_ADDRESS_BYTES = 8190

MAX_CONNECTIONS = 1000
"""Number of connections that a process holds; further ones wait."""

BACKLOG = 4096
"""Number of connections that wait in the kernel."""

ACCEPTED_AT_ONCE = 8
"""Number of connections that are accepted before others have their turn.

With one, as in waitress, a visitor could wait behind hundreds of new connections.
"""

SEND_BUFFER_BYTES = 64 << 10
"""Limit on what the kernel holds for a visitor who does not read; a block is twice as large."""

IDLE_SECONDS = 60
"""Seconds after which a connection on which nothing happens is closed."""

GRACE_SECONDS = 5.0
"""Seconds within which requests under way must be answered when a process stops."""

Environ = dict[str, Any]
Application = Callable[[Environ, Any], Iterable[bytes]]


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address. Raises OSError if the address is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    both = host == "::" and socket.has_dualstack_ipv6()
    listener = socket.create_server(
        (host, port), family=family, backlog=BACKLOG, dualstack_ipv6=both
    )
    # Connections inherit this.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
    return listener


def allow_connections() -> None:
    """Raise the limit on open files, which is often 1,024, to eight per connection."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = 8 * MAX_CONNECTIONS
    files = files if hard == resource.RLIM_INFINITY else min(files, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, files), hard))


def serve(application: Application, listener: socket.socket) -> None:
    """Answer requests until SIGTERM arrives, then answer those under way."""
    sockets: dict[int, Any] = {}
    server = make_server(application, listener, sockets)

    def stop(*_: object) -> None:
        server.accepting = False
        server.pull_trigger()

    signal.signal(signal.SIGTERM, stop)
    while server.accepting:
        wasyncore.loop(timeout=1.0, use_poll=True, map=sockets, count=1)
    deadline = time.monotonic() + GRACE_SECONDS
    while time.monotonic() < deadline and any(map(_is_busy, server.active_channels.values())):
        wasyncore.loop(timeout=0.1, use_poll=True, map=sockets, count=1)


def make_server(application: Application, listener: socket.socket, sockets: dict[int, Any]) -> Any:
    """Return a server with its threads; `sockets` is the map that its main loop watches."""
    turns = Turns(application)
    server = create_server(
        turns,
        map=sockets,
        sockets=[listener],
        threads=READER_THREADS + UPLOAD_THREADS,
        connection_limit=MAX_CONNECTIONS,
        channel_timeout=IDLE_SECONDS,
        max_request_header_size=MAX_HEADER_BYTES,
        max_request_body_size=MAX_BUFFERED_BYTES + 1,
        backlog=BACKLOG,
        asyncore_use_poll=True,
        # Django decides which proxies it trusts (DPGEO_PROXIES, DPGEO_HTTPS).
        clear_untrusted_proxy_headers=False,
        # Responses do not name the server.
        ident=None,
        log_socket_errors=False,
    )
    server.channel_class = Connection
    readable, accept = server.readable, server.handle_accept

    def may_accept() -> bool:
        """Leave connections to another process while this one has enough to compute.

        After each response it accepts one all the same, or visitors might wait for ever while
        kept-alive connections keep all processes busy.
        """
        waiting = len(server.task_dispatcher.queue)
        free = turns.under_way + waiting < READER_THREADS or turns.has_answered
        return bool(readable()) and free

    def accept_several() -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            if may_accept():
                turns.has_answered = False
                accept()

    server.readable, server.handle_accept = may_accept, accept_several
    return server


class Turns:
    """WSGI application that keeps threads free for readers while others wait for uploads.

    It also refuses what waitress would refuse without saying what to do.
    """

    def __init__(self, application: Application) -> None:
        self._application = application
        self._readers = BoundedSemaphore(READER_THREADS)
        self._uploads = BoundedSemaphore(UPLOAD_THREADS)
        self._counting = Lock()
        self.under_way = 0
        """Number of requests of readers that are computed or wait for that."""
        self.has_answered = False
        """Whether such a request has been answered since a connection was accepted."""

    def __call__(self, environ: Environ, start_response: Any) -> Iterable[bytes]:
        """Answer a request as soon as it is its turn."""
        if len(environ["REQUEST_URI"]) > MAX_ADDRESS_BYTES:
            return _refuse(ADDRESS_TOO_LONG, start_response)
        if not ABOUT_UPLOADS.match(environ["PATH_INFO"]):
            self._count(1)
            try:
                with self._readers:
                    return self._application(environ, start_response)
            finally:
                self._count(-1)
        if not self._uploads.acquire(blocking=False):
            return _refuse(BUSY, start_response, ("Retry-After", "30"))
        try:
            return self._application(environ, start_response)
        finally:
            self._uploads.release()

    def _count(self, change: int) -> None:
        with self._counting:
            self.under_way += change
            self.has_answered = self.has_answered or change < 0


def _refuse(kind: Problem, start_response: Any, *headers: tuple[str, str]) -> Iterable[bytes]:
    body = json.dumps(kind.document()).encode()
    status = f"{kind.status.value} {kind.status.phrase}"
    described = [("Content-Type", MEDIA_TYPE), ("Cache-Control", "no-store")]
    start_response(status, [*described, ("Content-Length", str(len(body))), *headers])
    return [body]


def _is_busy(channel: Any) -> bool:
    """Return whether a connection has a request under way or a response that is not yet sent."""
    return bool(channel.request or channel.requests or channel.total_outbufs_len)
