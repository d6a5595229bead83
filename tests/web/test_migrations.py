"""Migration of installations from versions before 0.1.0, which keeps all rows."""

from __future__ import annotations

import datetime
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection, connections, models
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from pytest_django.plugin import DjangoDbBlocker

from dpgeo.budgets.models import Ledger
from dpgeo.datasets.models import Dataset, PublicLayer, ShownFile
from dpgeo.datasets.person_keys import unseal
from tests.makers import make_dataset, make_received

OURS = [each.label for each in apps.get_app_configs() if each.name.startswith("dpgeo.")]

CLAUSES = {
    "columns": """SELECT table_name, column_name, data_type, character_maximum_length,
        is_nullable, column_default, is_identity
        FROM information_schema.columns WHERE table_schema = 'public'""",
    "constraints": """SELECT conrelid::regclass::text, contype::text, pg_get_constraintdef(oid),
        CASE WHEN contype = 'c' AND conname !~ '_check$' THEN conname::text END
        FROM pg_constraint WHERE connamespace = 'public'::regnamespace""",
    "indexes": """SELECT tablename::text, regexp_replace(indexdef, 'INDEX \\S+ ON', 'INDEX ON')
        FROM pg_indexes WHERE schemaname = 'public'""",
    "triggers": """SELECT tgrelid::regclass::text, pg_get_triggerdef(oid) FROM pg_trigger
        WHERE NOT tgisinternal""",
}
"""Queries for PostgreSQL's schema that leave out generated names.

A renamed table keeps the names that were generated from its old name.
"""


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


@contextmanager
def empty_database(folder: Path, name: str) -> Iterator[None]:
    """Make the default connection use a new database without tables."""
    with new_database(folder, name) as database, connected_to(database):
        yield


@pytest.fixture(autouse=True)
def _unblocked(django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    with django_db_blocker.unblock():
        yield


def migrate_as_before(end: int) -> Any:
    """Migrate to the schema of an older version, and return that version's models.

    `end` matters for apps with squashed migrations: it selects the last migration to apply, where 0
    is the first one and -1 the last.
    """
    executor = MigrationExecutor(connection)
    executor.loader = MigrationLoader(connection, replace_migrations=False)
    squashed = executor.loader.replacements
    targets = {app: (app, "0001_initial") for app in OURS if app in executor.loader.migrated_apps}
    targets |= {app: squash.replaces[end] for (app, _), squash in squashed.items() if app in OURS}
    del targets["webhooks"]  # older versions did not have this app
    if end == 0:
        # The first migration of this app needs migrations of other apps that are later than their
        # first.
        del targets["crowdsourcing"]
    state = executor.migrate(list(targets.values()))
    for node in squashed:  # the older version had no squashed migrations
        MigrationRecorder(connection).record_unapplied(*node)
    return state.apps


def value_of(field: Any) -> Any:
    """Return a value that is valid for a required field."""
    if field.is_relation:
        return field.related_model._default_manager.get()
    if field.choices:
        return field.choices[0][0]
    for kind, value in {
        models.CharField: "x",
        models.TextField: "x",
        models.BinaryField: b"x",
        models.JSONField: [],
        models.UUIDField: uuid.UUID(int=1),
        models.DateTimeField: datetime.datetime(2026, 5, 1, tzinfo=datetime.UTC),
        models.FloatField: 1.0,
        models.IntegerField: 1,
    }.items():
        if isinstance(field, kind):
            return value
    raise NotImplementedError(field)


def fill(old: Any) -> None:
    """Store a row in every table of the project, including many-to-many tables."""
    waiting = [model for model in old.get_models() if model._meta.app_label in OURS]
    filled: set[str] = set()
    while waiting:
        model = waiting.pop(0)
        required = [
            field
            for field in model._meta.concrete_fields
            if not (field.null or field.blank or field.has_default() or field.primary_key)
        ]
        many = [
            field
            for field in model._meta.local_many_to_many
            if field.remote_field.through._meta.auto_created
            and field.related_model._meta.app_label in OURS
        ]
        related = {field.related_model for field in (*required, *many) if field.is_relation}
        if not {each._meta.label for each in related} <= filled:
            waiting.append(model)
            continue
        row = model._default_manager.create(**{each.name: value_of(each) for each in required})
        for each in many:
            getattr(row, each.name).add(each.related_model._default_manager.get())
        filled.add(model._meta.label)


def select(query: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def rows(columns: dict[str, str] | None = None) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows of the project's tables, with all columns or only those given."""
    tables = [
        name
        for name in connection.introspection.table_names()
        if name.partition("_")[0] in OURS and "_user_" not in name
    ]
    wanted = columns or dict.fromkeys(tables, "*")
    return {name: select(f'SELECT {wanted[name]} FROM "{name}"') for name in wanted}  # noqa: S608


def columns_of_tables() -> dict[str, str]:
    """Return the columns of each of the project's tables, as a comma-separated list for queries."""
    describe = connection.introspection.get_table_description
    with connection.cursor() as cursor:
        return {
            table: ", ".join(f'"{column.name}"' for column in describe(cursor, table))
            for table in rows()
        }


def schema() -> set[tuple[Any, ...]]:
    """Return all columns, constraints, indexes and triggers of the database."""
    if connection.vendor == "postgresql":
        return {(kind, *row) for kind, query in CLAUSES.items() for row in select(query)}
    parts: set[tuple[Any, ...]] = set()
    for kind, table, sql in select("SELECT type, tbl_name, sql FROM sqlite_master WHERE sql > ''"):
        if kind != "table":
            parts.add((table, sql))
            continue
        depth, clause = 0, ""
        for letter in sql[sql.index("(") + 1 : sql.rindex(")")] + ",":
            depth += {"(": 1, ")": -1}.get(letter, 0)
            if letter == "," and depth == 0:
                parts.add((table, clause.strip()))
                clause = ""
            else:
                clause += letter
    return parts


@pytest.fixture(scope="module")
def fresh(
    tmp_path_factory: pytest.TempPathFactory, django_db_blocker: DjangoDbBlocker
) -> set[tuple[Any, ...]]:
    """Return the schema of a new database."""
    folder = tmp_path_factory.mktemp("fresh")
    with django_db_blocker.unblock(), empty_database(folder, "fresh"):
        call_command("migrate", verbosity=0)
        return schema()


@pytest.mark.parametrize("end", [0, -1], ids=["the first version", "the last before 0.1.0"])
def test_a_migrated_database_has_the_schema_of_a_fresh_one(
    tmp_path: Path, end: int, fresh: set[tuple[Any, ...]]
) -> None:
    with empty_database(tmp_path, "older"):
        migrate_as_before(end)
        call_command("migrate", verbosity=0)
        executor = MigrationExecutor(connection)
        assert executor.migration_plan(executor.loader.graph.leaf_nodes()) == []
        assert schema() == fresh


def test_migration_keeps_every_row(tmp_path: Path) -> None:
    with empty_database(tmp_path, "older"):
        fill(migrate_as_before(-1))
        columns = columns_of_tables()
        same = [
            each for each in columns["datasets_dataset"].split(", ") if "person_key" not in each
        ]
        columns["datasets_dataset"] = ", ".join(same)
        before = rows(columns)
        assert all(before.values()), [table for table, found in before.items() if not found]
        call_command("migrate", verbosity=0)
        assert rows(columns) == before


def test_migration_leaves_no_key_of_person_hashes_in_the_database(
    tmp_path: Path, settings: Any
) -> None:
    key = bytes(range(100, 132))
    settings.PERSON_KEY_FILE = str(tmp_path / "person-key")
    with empty_database(tmp_path, "older"):
        old = migrate_as_before(-1)
        fill(old)
        old.get_model("datasets", "Dataset").objects.update(person_key=key)
        call_command("migrate", verbosity=0)
        [(sealed,)] = select("SELECT sealed_person_key FROM datasets_dataset")
        assert unseal(bytes(sealed)) == key
        if connection.vendor == "sqlite":
            assert not any(key in path.read_bytes() for path in tmp_path.iterdir())


@pytest.mark.django_db
def test_budgets_for_points_keep_the_coarser_grid_of_their_former_releases() -> None:
    """Budgets for points keep the coarser grid of their earlier releases.

    The step of that grid was a hundredth of the radius in whole metres, but at least a metre.
    """
    for radius in (1, 250):
        beside = Ledger.objects.create(name="x", total_units=1)
        Ledger.objects.create(
            name="y", notion="geo-ind", beside=beside, radius=radius, total_units=1
        )
    import_module("dpgeo.budgets.migrations.0004_ledger_input_step").keep_former_steps(apps, None)
    steps = Ledger.objects.filter(notion="geo-ind").order_by("radius")
    assert list(steps.values_list("input_step", flat=True)) == [1000, 2000]
    assert not Ledger.objects.filter(notion="pure-dp", input_step__isnull=False).exists()


@pytest.mark.django_db
def test_migration_records_only_an_order_that_is_known() -> None:
    """The migration records the order of uploads only where it is certain.

    A deleted upload may have come before the earliest one that is left.
    """
    dataset = make_dataset()
    sibling = make_dataset(dataset.organisation, budget=None, ledger=dataset.ledger)
    unused = make_dataset()
    upload = make_received(dataset)
    Dataset.objects.update(first_upload_at=None)
    hour = datetime.timedelta(hours=1)
    for number, (owner, moment) in enumerate(
        ((dataset, -hour), (dataset, hour), (sibling, hour), (unused, hour))
    ):
        layer = PublicLayer.objects.create(
            dataset=owner, name=f"l{number}", kind="zones", features=1
        )
        layers = PublicLayer.objects.filter(pk=layer.pk)
        layers.update(created_at=upload.created_at + moment)
    migration = import_module("dpgeo.datasets.migrations.0011_order_of_declarations")
    migration.record_first_uploads(apps, None)
    dataset.refresh_from_db()
    unused.refresh_from_db()
    assert (dataset.first_upload_at, unused.first_upload_at) == (upload.created_at, None)
    ordered = PublicLayer.objects.order_by("name").values_list("before_upload", flat=True)
    assert list(ordered) == [None, False, False, None]


@pytest.mark.django_db
def test_migration_counts_openings_of_other_datasets_and_drops_what_rested_on_bytes() -> None:
    first = make_dataset()
    second = make_dataset(first.organisation)
    declared = second.created_at.date()
    days = {"a": -3, "b": -1, "c": 2}
    for area, after in days.items():
        day = declared + datetime.timedelta(days=after)
        ShownFile.objects.create(
            organisation=first.organisation, dataset=first.pk, area=area, on=day
        )
    # Opening a file of the dataset itself does not count towards `area_seen`, which is about the
    # files of other datasets.
    ShownFile.objects.create(
        organisation=first.organisation, dataset=second.pk, area="a", on=declared
    )
    bit = {"times": 1, "on": "2026-11-01"}
    Dataset.objects.filter(pk=second.pk).update(area_exchange={"times": 2, "seen_before": bit})
    migration = import_module("dpgeo.datasets.migrations.0018_area_seen")
    migration.count_openings(apps, None)
    second.refresh_from_db()
    before = declared - datetime.timedelta(days=1)
    assert second.area_seen == {"times": 1, "on": before.isoformat()}
    assert second.area_exchange == {"times": 2}
