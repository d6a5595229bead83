"""Rows of all tables as lines of JSON, the same for every kind of database."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from django.apps import apps
from django.core.management.color import no_style
from django.db import connection, connections, models, transaction
from django.db.migrations.recorder import MigrationRecorder

from dpgeo.core.declared import Declared
from dpgeo.jobs.phrase_field import store_phrase
from dpgeo.phrases import Phrase

SNAPSHOT = "snapshot"
"""Alias of the connection that reads a snapshot."""

LEFT_OUT = {"sessions.Session", "accounts.SignedIn", "datasets.Transfer", "datasets.Piece"}
"""Tables that are not backed up.

A user may have ended a session after the backup, and unfinished uploads change all the time.
"""

MADE_BY_MIGRATE = {"contenttypes.ContentType", "auth.Permission"}
"""Tables that `migrate` fills in a new database; a restore replaces their rows."""

VARIABLES = 900
"""Most values in one INSERT, which older versions of SQLite limit to 999."""


def tables() -> list[type[models.Model]]:
    """Return the models whose rows are backed up."""
    found = apps.get_models(include_auto_created=True)
    return [each for each in found if each._meta.managed and each._meta.label not in LEFT_OUT]


@contextmanager
def snapshot() -> Iterator[str]:
    """Yield the alias of a connection that sees the database as it is now, not later changes.

    Writers are not blocked: PostgreSQL uses a repeatable-read transaction, and SQLite a read
    transaction on its write-ahead log.
    """
    usual = connections["default"]
    other = cast(Any, usual).copy(SNAPSHOT)
    if other.vendor == "sqlite":
        options = {**other.settings_dict.get("OPTIONS", {}), "transaction_mode": "DEFERRED"}
        other.settings_dict["OPTIONS"] = options
    connections[SNAPSHOT] = other
    try:
        with transaction.atomic(using=SNAPSHOT):
            if other.vendor == "postgresql":
                with other.cursor() as cursor:
                    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            # The snapshot is only taken at the first query, so send one now.
            MigrationRecorder.Migration.objects.using(SNAPSHOT).first()
            yield SNAPSHOT
    finally:
        other.close()
        del connections[SNAPSHOT]


def migrations(using: str = "default") -> list[str]:
    """Return the sorted names of the applied migrations of all apps whose tables are backed up."""
    rows = MigrationRecorder.Migration.objects.using(using).values_list("app", "name")
    known = {f"{app}.{name}" for app, name in rows}
    return sorted(each for each in known if each.split(".")[0] in _apps())


def _apps() -> set[str]:
    return {each._meta.app_label for each in tables()}


def dump_rows(model: type[models.Model], using: str) -> Iterator[bytes]:
    """Yield the rows of a table as lines of JSON, in the order of the rows' primary keys."""
    fields = model._meta.concrete_fields
    rows = model._base_manager.using(using).order_by("pk")
    for row in rows.iterator(chunk_size=2_000):
        values = {each.attname: _plain(each.value_from_object(row)) for each in fields}
        yield json.dumps(values, ensure_ascii=False).encode() + b"\n"


def _plain(value: Any) -> Any:
    if isinstance(value, bytes | memoryview | bytearray):
        return base64.b64encode(bytes(value)).decode()
    if isinstance(value, Phrase):
        return store_phrase(value)
    if isinstance(value, Declared):
        return value.model_dump(mode="json")
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if value is None or isinstance(value, str | int | float | bool | list | dict):
        return value
    return str(value)


def load_rows(model: type[models.Model], lines: Iterable[bytes]) -> int:
    """Insert rows as `dump_rows` wrote them, without signals; return how many.

    Raises ValueError if a row's columns are not exactly those of the table.
    """
    fields = model._meta.concrete_fields
    by_name = {each.attname: each for each in fields}
    batch: list[models.Model] = []
    loaded = 0
    for line in lines:
        facts = json.loads(line)
        if facts.keys() != by_name.keys():
            raise ValueError(model._meta.label)
        batch.append(model(**{name: _read(by_name[name], facts[name]) for name in facts}))
        if len(batch) * len(fields) >= VARIABLES - len(fields):
            loaded += _insert(model, batch)
            batch = []
    return loaded + _insert(model, batch)


def _read(column: models.Field[Any, Any], value: Any) -> Any:
    if value is not None and isinstance(column, models.BinaryField):
        return base64.b64decode(value)
    return value if value is None else column.to_python(value)


def _insert(model: type[models.Model], rows: list[models.Model]) -> int:
    """Insert rows unchanged; Django does not set their times of creation to the present time."""
    if rows:
        manager: Any = model._base_manager
        manager._insert(rows, fields=model._meta.concrete_fields, using="default", raw=True)
    return len(rows)


def clear_made_by_migrate() -> None:
    """Delete the rows that `migrate` made, since the archive's rows replace them."""
    for model in tables():
        if model._meta.label in MADE_BY_MIGRATE:
            rows = model._base_manager.all()
            rows._raw_delete("default")


def reset_sequences() -> None:
    """Raise the database's id sequences, so that new rows get ids above those of restored rows."""
    statements = connection.ops.sequence_reset_sql(no_style(), tables())
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
