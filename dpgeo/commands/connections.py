"""Connections of the web server, which take turns and end if the other side is too slow.

They differ from waitress's own in three ways. An upload is read by the application while it
arrives: the application can refuse it before, keep what has arrived of one that breaks off, and
write it to its final place. A response is sent one block at a time, so that a few hundred large
files do not keep a small page waiting. A request that arrives too slowly is given up.
"""

from __future__ import annotations

import contextlib
import io
import re
import socket
import threading
import time
from functools import partial
from typing import Any

from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError

ABOUT_UPLOADS = re.compile(
    r"(/[a-z]{2})?/(desk|api/v1)/"
    r"(uploads/|datasets/[^/]+/(uploads?\b|practice/|(ready-)?layers\b|map/rehearsal/))"
    r"|/admin/datasets/upload/add/"
)
"""URLs whose requests may read a file or a layer, or make a trial map of invented people.

Such a request can take a minute.
"""

A_PIECE = "application/offset+octet-stream"
"""Media type of a piece of a file (tus), of which what has arrived is kept if it breaks off."""

GRACE_SECONDS = 15.0
MIN_RATE = 1024
"""The minimum rate, in bytes per second, at which a request must arrive after GRACE_SECONDS.

The application may wait for a large body for GRACE_SECONDS; every MIN_RATE bytes that arrive add a
second to that allowance, up to GRACE_SECONDS.
"""

LINGER_SECONDS = 2.0
"""Seconds for which the rest of a refused body is received and dropped.

If the connection were closed at once, the client might never see the response.
"""

MAX_WAITING_BYTES = 256 << 10
"""Number of bytes of a large body that may wait for the application to read them."""


class ArrivingBody(io.RawIOBase):
    """A body of `length` bytes, which the main thread receives and an application thread reads.

    It is also what waitress calls a receiver and its buffer.
    """

    error = None

    def __init__(self, length: int, resume: Any) -> None:
        """Make an empty body; `resume` is called when more of it can be received."""
        self._missing = length
        self._resume = resume
        self._bytes = bytearray()
        self._changed = threading.Condition()
        self._patience = GRACE_SECONDS
        self._dropped = False
        self.broken = False

    @property
    def completed(self) -> bool:
        """Whether all bytes have been received."""
        return not self._missing

    @property
    def has_room(self) -> bool:
        """Whether more bytes may be received before the application has read some."""
        return len(self._bytes) < MAX_WAITING_BYTES and not self.broken

    def received(self, data: bytes) -> int:
        """Take those of the received bytes that belong to this body, and return how many."""
        with self._changed:
            taken = data[: self._missing]
            self._missing -= len(taken)
            if not self._dropped:
                self._bytes += taken
            self._changed.notify()
        return len(taken)

    def break_off(self) -> None:
        """Note that nothing more will be received."""
        with self._changed:
            self.broken = True
            self._changed.notify()

    def drop(self) -> None:
        """Drop what is there and what will still be received."""
        with self._changed:
            self._dropped = True
            self._bytes.clear()

    def readable(self) -> bool:
        """Return True, since the body can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read bytes as soon as there are some, and return how many; 0 means the end.

        Raises ConnectionResetError if the body broke off or arrives too slowly. Bytes that arrived
        before are read first: a short read then reports the end, once.
        """
        with self._changed:
            began = time.monotonic()
            until = began + self._patience
            while not (self._bytes or self.broken or self.completed):
                if not self._changed.wait(until - time.monotonic()):
                    self.broken = True
            size = min(len(buffer), len(self._bytes))
            buffer[:size] = self._bytes[:size]
            del self._bytes[:size]
            waited = time.monotonic() - began
            self._patience = min(self._patience - waited + size / MIN_RATE, GRACE_SECONDS)
            if not size and self.broken:
                raise ConnectionResetError("The body broke off.")
        self._resume()
        return size

    def getfile(self) -> io.BufferedReader:
        """Return the body as the file that the application reads."""
        return _UntilItBreaks(self)

    def getbuf(self) -> ArrivingBody:
        """Return this object, which waitress closes when the request is answered."""
        return self


class _UntilItBreaks(io.BufferedReader):
    """Buffered reader that returns what arrived before a body broke off, and raises after that."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Read `size` bytes, or fewer if the body ends or breaks off."""
        parts: list[bytes] = []
        left = size if size is not None and size >= 0 else None
        try:
            while (left is None or left) and (part := self.read1(-1 if left is None else left)):
                parts.append(part)
                left = None if left is None else left - len(part)
        except ConnectionResetError:
            if not parts:
                raise
        return b"".join(parts)


class Parser(HTTPRequestParser):  # type: ignore[misc]
    """Parser that lets the application read a large body whose length is known as it arrives."""

    body_rcv: Any = None

    def __init__(self, connection: Connection, adj: Any) -> None:
        super().__init__(adj)
        self._connection = connection

    def received(self, data: bytes) -> int:
        """Take bytes that belong to this request, and return how many."""
        consumed = int(super().received(data))
        if not self._is_for_the_application():
            return consumed
        body = ArrivingBody(self.content_length, self._connection.server.pull_trigger)
        consumed += body.received(data[consumed:])
        if not ABOUT_UPLOADS.match(self.path):
            # The application says that it is too large; nothing reads it.
            body.drop()
            body.break_off()
        self.body_rcv, self.error, self.completed = body, None, True
        # Whether all of the body will be read is not known when the response begins.
        self.headers["CONNECTION"] = "close"
        self._connection.arriving = None if body.completed else body
        return consumed

    def parse_header(self, header_plus: bytes) -> None:
        """Read the header. Raises ParsingError if it does not say how long the body is.

        waitress ignores Transfer-Encoding in HTTP/1.0. A proxy that does not could take for one
        request what this server would take for two.
        """
        super().parse_header(header_plus)
        left = "TRANSFER_ENCODING" in self.headers
        if left or (self.chunked and "CONTENT_LENGTH" in self.headers):
            self.body_rcv = None
            raise ParsingError("The length of the body is doubtful.")

    def _is_for_the_application(self) -> bool:
        """Return whether the header has just arrived and the application should get the body."""
        if not self.headers_finished or self.body_rcv is None or self.chunked:
            return False
        if isinstance(self.body_rcv, ArrivingBody) or self.body_bytes_received:
            return False
        is_piece = self.headers.get("CONTENT_TYPE", "").startswith(A_PIECE)
        is_upload = is_piece and ABOUT_UPLOADS.match(self.path) is not None
        return is_upload or self.content_length >= self.adj.max_request_body_size


class Connection(HTTPChannel):  # type: ignore[misc]
    """Connection that takes turns, receives large bodies for the application, and has deadlines."""

    arriving: ArrivingBody | None = None
    close_when_flushed: bool
    _blocks = 0
    _began = 0.0
    _ends = 0.0

    def __init__(self, *args: Any, **named: Any) -> None:
        self.parser_class = partial(Parser, self)
        super().__init__(*args, **named)

    def readable(self) -> bool:
        """Return whether bytes should be received; end the connection if its time is over."""
        if (self._ends and time.monotonic() > self._ends) or self._is_slow():
            self.will_close = True
        if self.arriving is not None:
            return self.arriving.has_room
        return bool(super().readable())

    def _is_slow(self) -> bool:
        """Return whether the request that is arriving arrives too slowly."""
        request = self.request
        if request is None:
            return False
        size = request.header_bytes_received + request.body_bytes_received
        return bool(time.monotonic() - self._began > GRACE_SECONDS + size / MIN_RATE)

    def received(self, data: bytes) -> bool:
        """Pass received bytes to the body that is arriving or to the parser."""
        if self.arriving is not None:
            data = data[self.arriving.received(data) :]
            if not self.arriving.completed:
                return True
            self.arriving = None
            self.will_close = self.will_close or bool(self._ends)
        if self.request is None:
            self._began = time.monotonic()
        return bool(data and super().received(data))

    def send_continue(self) -> None:
        """Tell a client that waits for it to send the body."""
        completed = self.request.completed
        super().send_continue()  # takes every such request for one that is still arriving
        self.request.completed = completed

    def handle_read(self) -> None:
        """Receive bytes; a client that has broken off a body may still read the response."""
        super().handle_read()
        if self.arriving is not None and self.arriving.broken:
            self.connected = True

    def handle_write(self) -> None:
        """Send a block. After a refusal, receive some more of the body before closing."""
        answered = self.close_when_flushed and not self.total_outbufs_len
        body = self.arriving
        if answered and body is not None and not body.broken and not self._ends:
            self.close_when_flushed = False
            self._ends = time.monotonic() + LINGER_SECONDS
            body.drop()
            with contextlib.suppress(OSError):
                self.socket.shutdown(socket.SHUT_WR)
            return
        super().handle_write()

    def handle_close(self) -> None:
        """Close the connection; if a body breaks off, the application first keeps what arrived."""
        if self.arriving is not None and not self.arriving.broken:
            self.arriving.break_off()
            if not self.will_close:
                return
        super().handle_close()

    def _flush_some(self, do_close: bool = True) -> bool:
        self._blocks = 1
        return bool(super()._flush_some(do_close))

    def send(self, data: bytes, do_close: bool = True) -> int:
        """Send a block, or return 0 if this connection's turn is over."""
        if not self._blocks:
            return 0
        self._blocks -= 1
        return int(super().send(data, do_close))
