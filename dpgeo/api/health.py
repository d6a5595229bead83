"""Health checks; their answers depend on no data."""

from __future__ import annotations

from celery import current_app
from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from kombu.exceptions import OperationalError


@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """Answer 200 if the database can be reached, else 503."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except Error:
        return JsonResponse({"status": "unavailable", "database": "unreachable"}, status=503)
    return JsonResponse({"status": "ok", "database": "reachable"})


@never_cache
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """Answer 200 if the database is migrated and the broker reachable, else 503.

    While the broker is unreachable, requests for jobs are still accepted; the jobs run once the
    broker is back.
    """
    parts = {"database": database_state(), "broker": broker_state()}
    ready = parts == {"database": "migrated", "broker": "reachable"}
    answer = {"status": "ok" if ready else "unavailable", **parts}
    return JsonResponse(answer, status=200 if ready else 503)


def database_state() -> str:
    """Return "migrated" if the database has this version's tables, else what is wrong."""
    try:
        executor = MigrationExecutor(connection)
        missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except Error:
        return "unreachable"
    return "not migrated" if missing else "migrated"


def broker_state() -> str:
    """Return "reachable" or "unreachable", after trying for a few seconds."""
    with current_app.connection_for_write() as broker:
        try:
            broker.ensure_connection(max_retries=1, interval_start=0, timeout=3)
        except (*broker.connection_errors, OSError, OperationalError):
            return "unreachable"
    return "reachable"
