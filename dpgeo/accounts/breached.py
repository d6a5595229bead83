"""Check of passwords against an offline list of breached ones.

Django refuses the 20,000 most common passwords. An installation can name a longer list
(DPGEO_BREACHED_PASSWORDS) in the format of Have I Been Pwned's download, `HASH:COUNT` lines with
upper-case SHA-1 hashes in ascending order. The list is searched on the disk, and no password or
part of its hash leaves this machine.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core import checks
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

HASH_LENGTH = 40


class BreachedPasswordValidator:
    """Refuses passwords that are in the installation's list, if it has one."""

    def validate(self, password: str, user: object = None) -> None:
        """Raise ValidationError for a breached password."""
        path = settings.DPGEO_BREACHED_PASSWORDS
        if path and is_listed(Path(path), password):
            raise ValidationError(
                _("This password is in a public list of stolen passwords; choose another."),
                code="password_breached",
            )

    def get_help_text(self) -> str:
        """Return the help text, for password forms, about breached passwords."""
        return _("Not a password from a public list of stolen ones.")


def is_listed(path: Path, password: str) -> bool:
    """Return whether a sorted file of SHA-1 hashes contains the hash of a password."""
    wanted = hashlib.sha1(password.encode(), usedforsecurity=False).hexdigest().upper().encode()
    with path.open("rb") as file:
        low, high = 0, file.seek(0, 2)
        # Search by bisection. If the list has the hash, its line is the first that begins at or
        # after some position from `low` to `high`.
        while low < high:
            middle = (low + high) // 2
            start, line = _line_after(file, middle)
            if line and line[:HASH_LENGTH].upper() < wanted:
                low = start + 1
            else:
                high = middle
        return _line_after(file, low)[1][:HASH_LENGTH].upper() == wanted


def _line_after(file: IO[bytes], position: int) -> tuple[int, bytes]:
    """Return the start and the text of the first line that begins at or after a position."""
    file.seek(max(position - 1, 0))
    if position:
        file.readline()
    return file.tell(), file.readline()


@checks.register(checks.Tags.security)
def check_list(**_: Any) -> list[checks.CheckMessage]:
    """Check that the list of breached passwords is a readable file of hashes."""
    path = settings.DPGEO_BREACHED_PASSWORDS
    if not path:
        return []
    try:
        with Path(path).open("rb") as file:
            first = file.readline()[:HASH_LENGTH]
        int(first, 16)
    except (OSError, ValueError):
        first = b""
    if len(first) == HASH_LENGTH:
        return []
    return [
        checks.Error(
            "DPGEO_BREACHED_PASSWORDS is no file of SHA-1 hashes in ascending order.",
            hint="Download the list of Have I Been Pwned, ordered by hash, or leave it empty.",
            id="dpgeo.accounts.E001",
        )
    ]
