"""Files encrypted in the age format (age-encryption.org/v1), written and read as streams."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from dpgeo.core.errors import InvalidInput

PRIVATE = "AGE-SECRET-KEY-"


def read_recipients(texts: Sequence[str]) -> list[Any]:
    """Parse recipients in the form of age (age1...). Raises InvalidInput if one is malformed."""
    from pyrage import RecipientError, x25519

    try:
        return [x25519.Recipient.from_str(text.strip()) for text in texts]
    except RecipientError:
        raise InvalidInput(
            "This is not a recipient of age; they look like age1... and are public.",
            field="recipient",
        ) from None


def read_identities(path: Path) -> list[Any]:
    """Return the identities (age's private keys) in a file of age-keygen or `new_identity`.

    Raises InvalidInput if there is none.
    """
    from pyrage import IdentityError, x25519

    lines = [line.strip() for line in path.read_text().splitlines()]
    try:
        identities = [x25519.Identity.from_str(line) for line in lines if line.startswith(PRIVATE)]
    except IdentityError:
        identities = []
    if not identities:
        raise InvalidInput("There is no identity of age in this file.", field="identity")
    return identities


def new_identity(path: Path) -> str:
    """Write a new identity (private key) to a file that only its owner may read.

    Returns its recipient, which is the public key.

    Raises FileExistsError.
    """
    from pyrage import x25519

    identity = x25519.Identity.generate()
    recipient = str(identity.to_public())
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(file, "w") as target:
        target.write(f"# public key: {recipient}\n{identity}\n")
    return recipient


def passing_identity() -> Any:
    """Return an identity that exists only in this process, to decrypt archives for verification."""
    from pyrage import x25519

    return x25519.Identity.generate()


@contextmanager
def encrypted(target: IO[bytes], recipients: Sequence[Any]) -> Iterator[IO[bytes]]:
    """Yield a stream that encrypts for the recipients what is written to it.

    The encrypted bytes are written to `target`.
    """
    from pyrage import encrypt_io

    with _thread(lambda source: encrypt_io(source, target, list(recipients)), "r") as stream:
        yield stream


@contextmanager
def decrypted(source: IO[bytes], identities: Sequence[Any]) -> Iterator[IO[bytes]]:
    """Yield a stream with the decrypted bytes of `source`.

    Raises InvalidInput if the bytes are damaged or encrypted for other recipients.
    """
    from pyrage import DecryptError, decrypt_io

    def decrypt(target: IO[bytes]) -> None:
        try:
            decrypt_io(source, target, list(identities))
        except BrokenPipeError:
            raise
        except (DecryptError, OSError):  # pyrage reports a damaged block as an OSError.
            raise _DamagedStream from None

    try:
        with _thread(decrypt, "w") as stream:
            yield stream
    except _DamagedStream:
        raise InvalidInput(
            "None of the identities opens this archive, or it is damaged.", field="identity"
        ) from None


class _DamagedStream(Exception):
    """Raised if a stream cannot be decrypted."""


@contextmanager
def _thread(work: Callable[[IO[bytes]], object], end: str) -> Iterator[IO[bytes]]:
    """Run `work` on one end of a pipe in a thread, and yield the other end.

    `end` is the end that the thread gets: "r" or "w". If `work` fails, its error is raised here
    instead of the broken pipe that it causes.
    """
    reading, writing = os.pipe()
    ends: dict[str, Any] = {"r": os.fdopen(reading, "rb"), "w": os.fdopen(writing, "wb")}
    theirs, ours = ends[end], ends["w" if end == "r" else "r"]
    errors: list[BaseException] = []

    def run() -> None:
        try:
            with theirs:
                work(theirs)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield ours
        ours.close()
    except BaseException as error:
        _close(ours)
        thread.join()
        # If the thread failed too, raise its error, which caused this one. A BrokenPipeError is not
        # the cause: it only shows that our end of the pipe was closed early.
        if errors and not isinstance(errors[0], BrokenPipeError):
            raise errors[0] from error
        raise
    thread.join()
    if errors:
        raise errors[0]


def _close(stream: IO[bytes]) -> None:
    with suppress(OSError):
        stream.close()
