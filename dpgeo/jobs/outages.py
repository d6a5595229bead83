"""Recognition of outages: full disk, read-only folder, locked or absent database.

An error is recognised by its operating-system or database code, or by the code of an error that
caused it. During an outage, responses say "try again", and jobs wait instead of failing.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from enum import Enum

from django.db import Error as DatabaseError
from django.db import InterfaceError, OperationalError


class Outage(Enum):
    """Resource that is temporarily unavailable."""

    SPACE = "space"
    READ_ONLY = "read-only"
    DATABASE = "database"


OF_ERRNO = {
    errno.ENOSPC: Outage.SPACE,
    errno.EDQUOT: Outage.SPACE,
    errno.EFBIG: Outage.SPACE,
    errno.EROFS: Outage.READ_ONLY,
}

OF_SQLITE = {
    sqlite3.SQLITE_FULL: Outage.SPACE,
    sqlite3.SQLITE_IOERR: Outage.SPACE,
    sqlite3.SQLITE_READONLY: Outage.READ_ONLY,
    sqlite3.SQLITE_CANTOPEN: Outage.READ_ONLY,
    sqlite3.SQLITE_BUSY: Outage.DATABASE,
    sqlite3.SQLITE_LOCKED: Outage.DATABASE,
}
"""The outage that each primary result code of SQLite stands for.

SQLite reports a full disk as an I/O error if its log cannot grow.
"""

OF_SQLSTATE = {
    "53100": Outage.SPACE,  # PostgreSQL's error disk_full
    "25006": Outage.READ_ONLY,  # PostgreSQL's error read_only_sql_transaction
    "40P01": Outage.DATABASE,  # PostgreSQL's error deadlock_detected
    "55P03": Outage.DATABASE,  # PostgreSQL's error lock_not_available
}
BEGINNINGS = ("08", "53", "57P")
"""Prefixes of further PostgreSQL error states, all treated as outages of the database.

They mean that there is no connection, that resources are lacking, or that an operator stopped the
database.
"""

NO_SPACE = "No space left on device"
"""The operating system's message for a full disk.

Some libraries quote it in their errors without passing on the error code.
"""


def find_outage(error: BaseException | None) -> Outage | None:
    """Return the outage that an error or one of its causes indicates, or None if there is none."""
    return next((each for link in _chain(error) if (each := _outage(link))), None)


def _outage(error: BaseException) -> Outage | None:
    if isinstance(error, OSError) and error.errno in OF_ERRNO:
        return OF_ERRNO[error.errno]
    if isinstance(error, sqlite3.Error):
        return OF_SQLITE.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
    state = getattr(error, "sqlstate", None)
    if isinstance(state, str):
        return OF_SQLSTATE.get(state) or (Outage.DATABASE if state.startswith(BEGINNINGS) else None)
    if isinstance(error, OperationalError | InterfaceError):
        # Django's error has the database's own error as its cause. If that cause is an SQLite error
        # or has an SQLSTATE code, return None here, so that `find_outage` judges by the cause.
        known = isinstance(error.__cause__, sqlite3.Error) or getattr(
            error.__cause__, "sqlstate", None
        )
        return None if known else Outage.DATABASE
    is_library = not isinstance(error, DatabaseError) and NO_SPACE in str(error)
    return Outage.SPACE if is_library else None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        hidden = error.__suppress_context__  # of `raise ... from None`
        error = error.__cause__ or (None if hidden else error.__context__)
