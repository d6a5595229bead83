"""Databases beside the tests' own, on SQLite or PostgreSQL."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.db import connections


@contextmanager
def new_database(folder: Path, name: str, template: str = "") -> Iterator[str]:
    """Make a database without tables, or a copy of the one named `template`; yield its name.

    No connection to the template may be open.
    """
    usual = connections["default"]
    if usual.vendor != "postgresql":
        database = str(folder / f"{name}.sqlite3")
        if template:
            shutil.copy(template, database)
        yield database
        return
    database = f"{name}_{uuid.uuid4().hex}"
    with usual._nodb_cursor() as cursor:
        cursor.execute(f'CREATE DATABASE "{database}" TEMPLATE "{template or "template1"}"')
    try:
        yield database
    finally:
        with usual._nodb_cursor() as cursor:
            cursor.execute(f'DROP DATABASE "{database}"')


@contextmanager
def connected_to(database: str) -> Iterator[None]:
    """Make the default connection use another database."""
    usual = connections["default"]
    other = usual.copy()
    other.settings_dict["NAME"] = database
    connections["default"] = other
    try:
        yield
    finally:
        other.close()
        connections["default"] = usual
