"""Gunicorn worker in which slow connections do not block the threads that answer.

A separate thread for each connection reads its requests, sends its responses, and closes it if it
is too slow. Such threads are cheap: there may be a thousand, most of them waiting. Once the body of
a request has arrived, one of the few threads of a pool answers the request. The threads of a second
pool read larger bodies, which are uploads, as they arrive, and preview uploaded files. A pool
thread is free again before its response is sent.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import tempfile
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from gunicorn.http.errors import LimitRequestLine
from gunicorn.util import close_graceful, write_nonblock
from gunicorn.workers.gthread import TConn, ThreadWorker

from dpgeo.api.problem_kinds import ADDRESS_TOO_LONG, MEDIA_TYPE
from dpgeo.config.paced_socket import PacedSocket

UPLOAD_THREADS = 16
"""Number of threads per process that read large bodies; each may hold a database connection."""

LARGEST_BUFFERED = 4 << 20
"""Largest body in bytes that is received completely before a pool thread handles the request."""

ABOUT_UPLOADS = re.compile(
    r"(/[a-z]{2})?/(desk|api/v1)/"
    r"(uploads/|datasets/[^/]+/(uploads?\b|practice/|(ready-)?layers\b|map/rehearsal/))"
    r"|/admin/datasets/upload/add/"
)
"""URLs whose requests may read a file or a layer, or make a trial map of invented people.

Such a request can take a minute.
"""

IN_MEMORY = 64 << 10
"""Number of bytes of a received body that are kept in memory; larger bodies go to a temporary file.
"""

Environ = dict[str, Any]
Application = Callable[[Environ, Any], Iterable[bytes]]


class SharingWorker(ThreadWorker):  # type: ignore[misc]
    """Worker that accepts new connections only while a pool thread is free.

    After each response it accepts one connection in any case.

    Gunicorn's own worker accepts every connection, so one worker may hold all kept-alive
    connections and answer them on one core while the other worker is idle.
    """

    _computing = 0
    _may_accept = True

    def init_process(self) -> None:
        """Start the thread pools."""
        self._counting = threading.Lock()
        self._readers = ThreadPoolExecutor(self.cfg.threads, "answer")
        self._uploads = ThreadPoolExecutor(UPLOAD_THREADS, "upload")
        super().init_process()

    def get_thread_pool(self) -> ThreadPoolExecutor:
        """Return the pool of threads that receive and send; each active connection needs one."""
        return ThreadPoolExecutor(self.cfg.worker_connections, "connection")

    def load_wsgi(self) -> None:
        """Load the application, and have pool threads call it (`_answer`)."""
        super().load_wsgi()
        self._application: Application = self.__dict__["wsgi"]
        self.wsgi = self._answer

    def handle(self, conn: TConn) -> Any:
        """Receive a request, have a thread of a pool process it, and send the response."""
        if not isinstance(conn.sock, PacedSocket):
            conn.sock = PacedSocket(conn.sock)
        conn.sock.expect_header()
        stays = super().handle(conn)
        if stays is False:
            # Close the connection in its own thread, because closing waits for the other side and
            # would block gunicorn's main thread.
            close_graceful(conn.sock.plain)
            conn.close = _closed
        return stays

    def _answer(self, environ: Environ, start_response: Any) -> Iterable[bytes]:
        """Process a request in a thread of the pool for uploads or of the pool for the rest."""
        environ["gunicorn.socket"].expect_body()
        length = environ.get("CONTENT_LENGTH") or "0"
        large = "HTTP_TRANSFER_ENCODING" in environ or int(length) > LARGEST_BUFFERED
        if not large and int(length):
            environ["wsgi.input"] = _received(environ["wsgi.input"], int(length))
        if large or ABOUT_UPLOADS.match(environ["PATH_INFO"]):
            return self._uploads.submit(self._application, environ, start_response).result()
        self._count(1)
        try:
            return self._readers.submit(self._application, environ, start_response).result()
        finally:
            self._count(-1)

    def _count(self, change: int) -> None:
        with self._counting:
            self._computing += change
        if not self._may_accept and self._computing < self.cfg.threads:
            self.method_queue.defer(self._accept_again)

    def _accept_again(self) -> None:
        self._may_accept = True
        self.set_accept_enabled(self.nr_conns < self.worker_connections)

    def enqueue_req(self, conn: TConn) -> None:
        """Pass a connection with a request to the connection threads."""
        self._may_accept = self._computing < self.cfg.threads
        super().enqueue_req(conn)
        if self._accepting:
            self.set_accept_enabled(True)

    def finish_request(self, conn: TConn, fs: Future[Any]) -> None:
        """Return a connection from its thread to gunicorn's main loop."""
        # After each response, accept one connection even if no pool thread is free. Otherwise a new
        # visitor might wait forever while kept-alive connections keep all workers busy.
        self._may_accept = True
        super().finish_request(conn, fs)

    def set_accept_enabled(self, enabled: bool) -> None:
        """Accept connections only while `_may_accept`; gunicorn calls this after every event."""
        super().set_accept_enabled(enabled and self._may_accept)

    def handle_error(self, req: Any, client: socket.socket, addr: Any, exc: BaseException) -> None:
        """Respond to an unreadable request, with a problem document if its URL is too long."""
        if not isinstance(exc, LimitRequestLine):
            super().handle_error(req, client, addr, exc)
            return
        body = json.dumps(ADDRESS_TOO_LONG.document())
        head = (
            "HTTP/1.1 414 URI Too Long",
            "Connection: close",
            f"Content-Type: {MEDIA_TYPE}",
            "Cache-Control: no-store",
            f"Content-Length: {len(body)}",
        )
        with contextlib.suppress(OSError):
            write_nonblock(client, "\r\n".join((*head, "", body)).encode())


def _closed(graceful: bool = False) -> None:
    """Do nothing, because the connection is already closed."""


def _received(body: Any, length: int) -> Any:
    """Return a request's body as a file, once all of it has arrived."""
    received = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115
    while length > 0 and (part := body.read(min(length, IN_MEMORY))):
        received.write(part)
        length -= len(part)
    received.seek(0)
    return received
