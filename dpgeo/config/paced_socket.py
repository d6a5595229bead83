"""Network connection that ends when the other side is too slow."""

from __future__ import annotations

import errno
import os
import select
import socket
import time
from typing import IO, Any

HEADER_SECONDS = 10.0
"""Seconds within which the header of a request must arrive."""

GRACE_SECONDS = 15.0
LEAST_RATE = 1024
"""The minimum transfer rate, in bytes per second. A body or a response may keep this server waiting
for GRACE_SECONDS. Every LEAST_RATE bytes that are transferred add a second to that allowance, up to
GRACE_SECONDS, and only the time that this server spends waiting is counted.
"""

BLOCK_BYTES = 1 << 18


class TooSlow(TimeoutError):
    """Raised if the other side of a connection is too slow.

    Its error number is that of a connection closed by the other side, so gunicorn closes the
    connection without a log line.
    """

    def __init__(self) -> None:
        super().__init__(errno.ECONNRESET, "too slow")


class PacedSocket:
    """Socket with a deadline for headers and a minimum transfer rate for everything else."""

    def __init__(self, connection: socket.socket) -> None:
        self.plain = connection
        self._deadline: float | None = None
        self._left = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain, name)

    def expect_header(self) -> None:
        """Start the clock for the next header, which must arrive within HEADER_SECONDS."""
        self._deadline = time.monotonic() + HEADER_SECONDS

    def expect_body(self) -> None:
        """Start the time allowance for a request body or a response."""
        self._deadline, self._left = None, GRACE_SECONDS

    def recv(self, size: int, flags: int = 0) -> bytes:
        """Receive up to `size` bytes. Raises TooSlow if the other side is too slow."""
        began = self._wait_at_most()
        try:
            received = self.plain.recv(size, flags)
        except TimeoutError:
            raise TooSlow from None
        self._passed(began, len(received))
        return received

    def send(self, data: Any, flags: int = 0) -> int:
        """Send some bytes, and return how many. Raises TooSlow if the receiver is too slow."""
        # The worker has not called `expect_body` if gunicorn rejects a malformed header. Call it
        # here, so that the header's deadline does not cut off the response.
        if self._deadline is not None:
            self.expect_body()
        began = self._wait_at_most()
        try:
            sent = self.plain.send(data, flags)
        except TimeoutError:
            raise TooSlow from None
        self._passed(began, sent)
        return sent

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Send all bytes. Raises TooSlow if the receiver is too slow."""
        rest = memoryview(data)
        while rest:
            rest = rest[self.send(rest, flags) :]

    def sendfile(self, file: IO[bytes], offset: int = 0, count: int | None = None) -> int:
        """Send `count` bytes of a file, or the rest of the file, and return how many were sent.

        Raises TooSlow if the receiver is too slow.
        """
        sent = 0
        writable = select.poll()
        writable.register(self.plain, select.POLLOUT)
        while count is None or sent < count:
            block = BLOCK_BYTES if count is None else min(BLOCK_BYTES, count - sent)
            began = self._wait_at_most()
            if not writable.poll(1000 * max(self._left, 0.0)):
                raise TooSlow
            try:
                done = os.sendfile(self.plain.fileno(), file.fileno(), offset + sent, block)
            except BlockingIOError:
                done = 0
            else:
                if not done:
                    break
            self._passed(began, done)
            sent += done
        return sent

    def _wait_at_most(self) -> float:
        """Set the timeout of the next transfer, and return the current time.

        Raises TooSlow if no time is left.
        """
        now = time.monotonic()
        left = self._left if self._deadline is None else self._deadline - now
        if left <= 0:
            raise TooSlow
        self.plain.settimeout(left)
        return now

    def _passed(self, began: float, transferred: int) -> None:
        """Subtract the time since `began` from the time allowance, and add time for the bytes sent
        or received.
        """
        self._left -= time.monotonic() - began
        self._left = min(self._left + transferred / LEAST_RATE, GRACE_SECONDS)
