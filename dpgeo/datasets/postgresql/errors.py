"""Messages about tables that cannot be read: what failed, and how to fix it.

The database's own messages and those of the client library never leave this module, since they may
quote values, role names and addresses. They are only searched for English words that reveal the
kind of failure; if none is found, the message to members says less.
"""

from __future__ import annotations

from collections.abc import Sequence

import psycopg

from dpgeo.core.errors import Conflict
from dpgeo.phrases import Phrase

BY_CODE = {
    "42P01": Phrase(
        "There is no such table or view; write its name with its schema, such as public.trips."
    ),
    "42501": Phrase(
        "The role that this site uses may not read it: grant it USAGE on the schema and SELECT on "
        "the table."
    ),
    "57014": Phrase("The database took too long, or somebody cancelled the query there."),
}
"""How to fix some failures, by PostgreSQL's error code."""

UNKNOWN_HOST = Phrase("The host is unknown here: check its name in the setting DPGEO_SOURCES.")
SILENT = Phrase(
    "Nothing answers there: check the host and the port in the setting DPGEO_SOURCES, and that "
    "PostgreSQL runs, listens on that address and is not behind a firewall."
)
NOT_TRUSTED = Phrase(
    "There was no encrypted connection with a trusted certificate: PostgreSQL must offer TLS, its "
    "certificate must have the host's name, and sslrootcert in the setting DPGEO_SOURCES may name "
    "the authority."
)
REFUSED = Phrase(
    "The database refused the role or its password: check both in the setting DPGEO_SOURCES, in "
    "PGPASSWORD or in the password file, and the database's pg_hba.conf."
)
NO_DATABASE = Phrase(
    "There is no database of that name: check the last part of the address in the setting "
    "DPGEO_SOURCES."
)
BUSY = Phrase("The database has no free connection, or is starting or stopping; try again.")
LOGGED = Phrase("What happened is in the database's own log.")
LOST = Phrase("There is no connection; the database's own log may say why.")

BY_WORDS: Sequence[tuple[str, Sequence[str], Phrase]] = (
    ("no such host", ("resolve host", "translate host name"), UNKNOWN_HOST),
    ("no trusted connection", ("certificate", "support SSL", "SSL negotiation"), NOT_TRUSTED),
    ("busy", ("too many", "connection slots", "starting up", "shutting down"), BUSY),
    ("login refused", ("authentication", "password", "pg_hba.conf", 'role "'), REFUSED),
    ("no such database", ('database "',), NO_DATABASE),
    ("no answer", ("refused", "timeout", "timed out", "unreachable", "No route"), SILENT),
)
"""Failures to connect: the kind, words in the error that reveal it, and how to fix it.

The first entry with a word that occurs in the error is used.
"""


def refusal(table: str, error: psycopg.Error) -> tuple[str, Conflict]:
    """Return the kind of an error for the log, and the Conflict that members read."""
    if code := error.sqlstate:
        return code, Conflict(
            "The table {table!r} could not be read. {reason} The database's code is {code}.",
            table=table,
            reason=BY_CODE.get(code, LOGGED),
            code=code,
        )
    kind, reason = _by_words(str(error))
    return kind, Conflict(
        "The table {table!r} could not be read. {reason}", table=table, reason=reason
    )


def _by_words(text: str) -> tuple[str, Phrase]:
    for kind, words, reason in BY_WORDS:
        if any(word in text for word in words):
            return kind, reason
    return "no connection", LOST
