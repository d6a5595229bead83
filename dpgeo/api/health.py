"""Health checks, which depend on the data only through the free disk space."""

from __future__ import annotations

from celery import current_app
from django.db import Error, OperationalError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from kombu.exceptions import OperationalError as BrokerError

from dpgeo.jobs.disk_space import read_disk_space
from dpgeo.jobs.outages import Outage, find_outage

LOCK_MILLISECONDS = 1_000
"""SQLite counts as locked if another process holds its write lock for longer than this."""

READY = {"disk": "enough space", "database": "migrated", "broker": "reachable"}


@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """Respond with 200 if this process answers requests.

    Nothing else is asked for: without database, broker or disk space a process still serves the
    page that says so. If balancers took it out of rotation or restarted it then, visitors would get
    no answer at all.
    """
    return JsonResponse({"status": "ok"})


@never_cache
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """Respond with 200 if the disk, the database and the broker are ready, otherwise with 503.

    It is for alerts, not for balancers (see `healthz`). As free space shrinks, this check fails
    before any other request does (`jobs.disk_space`). While the broker is unreachable, requests
    that start jobs are still accepted; the jobs run once it is back.
    """
    parts = service_states()
    ready = parts == READY
    answer = {"status": "ok" if ready else "unavailable", **parts}
    return JsonResponse(answer, status=200 if ready else 503)


def service_states() -> dict[str, str]:
    """Return the states of the disk, the database and the broker; READY if all are well."""
    return {"disk": disk_state(), "database": database_state(), "broker": broker_state()}


def disk_state() -> str:
    """Return "enough space", "too little space" or "read-only" for this installation's disks."""
    reading = read_disk_space()
    if not reading.writable:
        return "read-only"
    return "too little space" if reading.low else "enough space"


def database_state() -> str:
    """Return "migrated" if the database has this version's tables, otherwise what is wrong."""
    try:
        if outage := writing_outage():
            return outage
        executor = MigrationExecutor(connection)
        missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except Error:
        return "unreachable"
    return "not migrated" if missing else "migrated"


def writing_outage() -> str:
    """Return "locked", "read-only" or "full" if the database cannot be written, otherwise "".

    PostgreSQL is asked whether it is read-only. For SQLite, an empty transaction tries to acquire
    the write lock for at most LOCK_MILLISECONDS. Raises Error if the database is unreachable.
    """
    if connection.vendor == "sqlite":
        return _sqlite_writing_outage()
    with connection.cursor() as cursor:
        cursor.execute("SHOW transaction_read_only")
        return "read-only" if cursor.fetchone() == ("on",) else ""


def _sqlite_writing_outage() -> str:
    usual = int(1000 * connection.settings_dict["OPTIONS"].get("timeout", 5))
    try:
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA busy_timeout={LOCK_MILLISECONDS}")
        with transaction.atomic():
            pass
    except OperationalError as error:
        outage = find_outage(error)
        if outage is None:
            raise
        return {Outage.DATABASE: "locked", Outage.READ_ONLY: "read-only"}.get(outage, "full")
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA busy_timeout={usual}")
    return ""


def broker_state() -> str:
    """Return "reachable" or "unreachable", after trying for a few seconds."""
    with current_app.connection_for_write() as broker:
        try:
            broker.ensure_connection(max_retries=1, interval_start=0, timeout=3)
        except (*broker.connection_errors, OSError, BrokerError):
            return "unreachable"
    return "reachable"
