"""Sessions in a registered database: read-only, with settings that keep texts of values the same.

Connections to other machines use TLS with a verified certificate (`sslmode=verify-full`) unless the
address says otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from dpgeo.core.errors import InvalidInput
from dpgeo.datasets.postgresql.columns import quoted

LOCAL_HOSTS = ("", "localhost", "127.0.0.1", "::1")

REMOTE = ("host", "hostaddr")
"""Connection settings of libpq that name other machines.

As environment variables, they are in capitals and begin with PG.
"""

MAX_SECONDS = 6 * 3600
"""Longest time that the database may work on one query of a job."""

MAX_NAME_LENGTH = 63
"""Largest length of a name in PostgreSQL, in bytes."""

SESSION = {
    "client_encoding": "UTF8",
    "search_path": "pg_catalog",
    "TimeZone": "UTC",
    "DateStyle": "ISO",
    "IntervalStyle": "postgres",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "standard_conforming_strings": "on",
    "cursor_tuple_fraction": "1.0",
    "idle_in_transaction_session_timeout": f"{MAX_SECONDS}s",
}
"""Settings of each database session, which fix how the database writes values as text."""


@contextmanager
def connected(address: str, seconds: int = MAX_SECONDS) -> Iterator[psycopg.Connection]:
    """Open a read-only transaction with the settings of `SESSION` and a time limit per query."""
    given: dict[str, Any] = conninfo_to_dict(address)
    if not _is_local(given):
        given.setdefault("sslmode", "verify-full")
    given.setdefault("connect_timeout", 10)
    given.setdefault("application_name", "dpgeo")
    connection = psycopg.connect(**given, cursor_factory=psycopg.RawCursor)
    connection.server_cursor_factory = psycopg.RawServerCursor
    try:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        for name, value in {**SESSION, "statement_timeout": f"{seconds}s"}.items():
            connection.execute("SELECT set_config($1, $2, true)", [name, value])
        yield connection
        connection.commit()
    finally:
        connection.close()


def _is_local(given: Mapping[str, Any]) -> bool:
    """Return whether a connection leads to this machine only, by the rules of libpq."""
    named = [given.get(name) or os.environ.get(f"PG{name.upper()}") for name in REMOTE]
    hosts = [host for each in named if each for host in str(each).split(",")]
    is_service = given.get("service") or os.environ.get("PGSERVICE")
    return not is_service and all(host in LOCAL_HOSTS or host.startswith("/") for host in hosts)


def quoted_table(name: str) -> str:
    """Return a table's name in SQL, with its schema, by default "public". Raises InvalidInput."""
    parts = name.split(".")
    schema, table = parts if len(parts) == 2 else ("public", *parts[:1])
    usable = all(
        part and part.isprintable() and len(part.encode()) <= MAX_NAME_LENGTH
        for part in (schema, table)
    )
    if len(parts) > 2 or not usable or schema.startswith("pg_") or schema == "information_schema":
        raise InvalidInput("Write a table's name, such as public.trips.", field="folder")
    return f"{quoted(schema)}.{quoted(table)}"
