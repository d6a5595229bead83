"""A gunicorn worker that leaves connections to idle workers and explains a 414 as the API does."""

from __future__ import annotations

import contextlib
import json
import socket
from concurrent.futures import Future
from typing import Any

from gunicorn.http.errors import LimitRequestLine
from gunicorn.util import write_nonblock
from gunicorn.workers.gthread import TConn, ThreadWorker

from dpgeo.api.problem_kinds import ADDRESS_TOO_LONG, MEDIA_TYPE


class SharingWorker(ThreadWorker):  # type: ignore[misc]
    """Accepts a connection only while a thread is free, or after answering a request.

    gunicorn's own worker accepts every connection, so that one worker can hold all kept-alive
    connections and answer them on one core, while the other worker is idle.
    """

    _busy = 0
    _may_accept = True

    def enqueue_req(self, conn: TConn) -> None:
        """Pass a request to the threads."""
        self._busy += 1
        self._may_accept = self._busy < self.cfg.threads
        super().enqueue_req(conn)
        if self._accepting:
            self.set_accept_enabled(True)

    def finish_request(self, conn: TConn, fs: Future[Any]) -> None:
        """Take a connection back from its thread."""
        self._busy -= 1
        # Even the busiest worker accepts now, or a new visitor could wait for ever.
        self._may_accept = True
        super().finish_request(conn, fs)

    def set_accept_enabled(self, enabled: bool) -> None:
        """Accept connections if `_may_accept`; gunicorn calls this again after every event."""
        super().set_accept_enabled(enabled and self._may_accept)

    def handle_error(self, req: Any, client: socket.socket, addr: Any, exc: BaseException) -> None:
        """Answer an unreadable request; an overlong address gets a problem document."""
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
