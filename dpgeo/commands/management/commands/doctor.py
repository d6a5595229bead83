"""`python manage.py doctor`: check this installation, and say how to fix each fault."""

from __future__ import annotations

import sqlite3
import stat
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import django
import requests
from django.conf import settings
from django.core import checks
from django.core.mail import get_connection
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection
from django.utils import timezone

import dpgeo
from dpgeo.accounts.mail import sends_mail
from dpgeo.accounts.providers import ENDPOINTS, Facts, ends_of_certificates
from dpgeo.api.health import broker_state, database_state, disk_state
from dpgeo.audit.models import Event
from dpgeo.datasets.checks import OPEN_CALLS, OPEN_FILES, check_sandbox
from dpgeo.jobs.models import Job, JobState

MAX_CLOCK_SKEW_SECONDS = 5.0
"""Largest difference in seconds between two clocks that is not reported as a fault."""

MAX_WAIT = timedelta(minutes=10)
"""Longest time for which a job may wait while no job is running; longer is a fault."""

ENDS_SOON = timedelta(days=30)
"""Time before its expiry at which a single sign-on provider's certificate becomes a fault."""

LOCAL = {"127.0.0.1", "localhost", "::1", "[::1]"}

REPORTED = {"dpgeo.accounts.W001", OPEN_FILES.id, OPEN_CALLS.id}
"""Ids of warnings of Django's system checks that `check_settings` leaves out.

`check_mail` and `check_uploads` report the same faults.
"""

OLDEST_POSTGRESQL = 140_000
OLDEST_SQLITE = (3, 35)


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of one check: what was checked, whether it passed, and what to do if not."""

    subject: str
    state: str
    remedy: str = ""

    @property
    def good(self) -> bool:
        """Whether the check found no fault, so that there is no remedy."""
        return not self.remedy


class Command(BaseCommand):
    help = (
        "Checks mail, disk, clock, permissions, the sandbox of uploads, broker, database, workers, "
        "versions, providers of single sign-on, settings."
    )
    # Do not let Django stop the command at faults that `check_settings` is to report with their
    # remedies.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--quiet", action="store_true", help="Print faults alone, for instance in cron."
        )

    def handle(self, *args: Any, quiet: bool, **options: Any) -> None:
        findings = [finding for check in CHECKS for finding in check()]
        for each in findings:
            if each.good and not quiet:
                self.stdout.write(f"ok     {each.subject}: {each.state}")
            if not each.good:
                self.stdout.write(f"FAULT  {each.subject}: {each.state}\n       {each.remedy}")
        faults = sum(not each.good for each in findings)
        if faults:
            raise CommandError(f"{faults} of {len(findings)} checks found a fault.")
        if not quiet:
            self.stdout.write(f"All {len(findings)} checks passed.")


def check_versions() -> Iterator[Finding]:
    """Report the versions of the software, and check whether the database's is supported."""
    python = ".".join(map(str, sys.version_info[:3]))
    what = f"dpgeo {dpgeo.__version__}, Python {python}, Django {django.__version__}"
    yield Finding("versions", what)
    if connection.vendor == "sqlite":
        good = sqlite3.sqlite_version_info >= OLDEST_SQLITE
        remedy = "" if good else "Install a Python that has SQLite 3.35 or newer."
        yield Finding("SQLite", sqlite3.sqlite_version, remedy)
        return
    try:
        with connection.cursor() as cursor:
            cursor.execute("SHOW server_version_num")
            version = int(cursor.fetchone()[0])
    except DatabaseError:
        return  # `check_database` reports the error
    remedy = "" if version >= OLDEST_POSTGRESQL else "Use PostgreSQL 14 or newer."
    yield Finding("PostgreSQL", f"{version // 10_000}.{version % 10_000}", remedy)


def check_database() -> Iterator[Finding]:
    """Check that the database answers, can be written and has this version's tables."""
    state = database_state()
    remedies = {
        "migrated": "",
        "not migrated": "Run `manage.py migrate`, after a backup.",
        "unreachable": "Start the database, and check DATABASE_URL.",
        "locked": "Another process holds the database; end it, or wait.",
        "read-only": "Make the database writable; PostgreSQL may be a standby.",
        "full": "Free space where the database is.",
    }
    yield Finding("database", state, remedies[state])


def check_disk() -> Iterator[Finding]:
    """Check the free space and whether all folders can be written."""
    state = disk_state()
    remedies = {
        "enough space": "",
        "too little space": "Free space, or lower DPGEO_MIN_FREE; uploads and jobs wait.",
        "read-only": f"Make {settings.VAR_DIR} and the folders in it writable for this account.",
    }
    yield Finding("disk", state, remedies[state])


def check_broker() -> Iterator[Finding]:
    """Check that the broker answers."""
    state = broker_state()
    remedy = "" if state == "reachable" else "Start it, and check CELERY_BROKER_URL."
    yield Finding("broker", state, remedy)


def check_workers() -> Iterator[Finding]:
    """Check that jobs do not wait for long while nothing runs."""
    try:
        running = Job.objects.filter(state=JobState.RUNNING, lease_until__gt=timezone.now())
        waiting = Job.objects.filter(
            state=JobState.QUEUED, submitted_at__lt=timezone.now() - MAX_WAIT
        )
        stuck = waiting.exists() and not running.exists()
    except DatabaseError:
        return
    remedy = "Start workers and the reaper (docs/operate.md, Processes); see their log."
    yield Finding("workers", "jobs wait" if stuck else "no job waits", remedy if stuck else "")


def check_clock() -> Iterator[Finding]:
    """Compare this machine's clock with the database's, and with the time of the newest audit
    event.
    """
    remedy = "Let all machines keep time by NTP: leases and public times of jobs rest on it."
    apart = 0.0
    try:
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT extract(epoch FROM clock_timestamp())")
                apart = abs(float(cursor.fetchone()[0]) - time.time())
        newest = Event.objects.first()
    except DatabaseError:
        return
    if newest is not None:
        apart = max(apart, newest.at.timestamp() - time.time())
    good = apart <= MAX_CLOCK_SKEW_SECONDS
    yield Finding("clock", "right" if good else f"{apart:.0f} s apart", "" if good else remedy)


def check_permissions() -> Iterator[Finding]:
    """Check that no other account may read what is private."""
    private = [settings.VAR_DIR, settings.PRIVATE_DIR, settings.INCOMING_DIR]
    named = [Path(settings.PERSON_KEY_FILE), Path(settings.VAR_DIR) / "secret-key"]
    database = settings.DATABASES["default"]
    if database["ENGINE"].endswith("sqlite3"):
        named.append(Path(str(database["NAME"])))
    # Files in a folder that nobody else may enter are safe, whatever their own mode.
    closed = not _open(Path(settings.VAR_DIR))
    inside = Path(settings.VAR_DIR).resolve()
    for path in [*map(Path, private), *named]:
        if path.exists():
            sheltered = closed and inside in path.resolve().parents and path.name != "person-key"
            fault = _open(path) and not sheltered
            remedy = f"chmod {'700' if path.is_dir() else '600'} {path}" if fault else ""
            yield Finding(f"permissions of {path.name}", "open" if fault else "closed", remedy)


def _open(path: Path) -> bool:
    return bool(path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))


def check_uploads() -> Iterator[Finding]:
    """Check that the kernel can confine the process that reads uploads."""
    faults = check_sandbox()
    for each in faults:
        yield Finding(f"sandbox of uploads ({each.id})", each.msg, each.hint or each.msg)
    if not faults:
        yield Finding("sandbox of uploads", "reaches no other files, no network and no programs")


def check_mail() -> Iterator[Finding]:
    """Check that the mail server takes a connection; no mail is sent."""
    if not sends_mail():
        yield Finding("mail", "none", "Set DPGEO_EMAIL_URL, for forgotten passwords and alerts.")
        return
    server = get_connection()
    try:
        server.open()
        server.close()
    except Exception as error:
        # Catch all errors, since mail libraries raise many types; the report names the type alone.
        remedy = "Check DPGEO_EMAIL_URL, and whether the server can be reached from here."
        yield Finding("mail", type(error).__name__, remedy)
    else:
        yield Finding("mail", "the server answers")


def check_single_sign_on() -> Iterator[Finding]:
    """Check that OIDC providers respond with their description, and SAML certificates are valid."""
    for facts in settings.DPGEO_OIDC:
        yield Finding(f"provider {facts['id']}", *_state_of_provider(facts))
    for facts in settings.DPGEO_SAML:
        try:
            end = max(ends_of_certificates(facts))
        except ValueError:
            continue  # `check_settings` reports it
        good = end > timezone.now() + ENDS_SOON
        state = f"its certificate ends on {end:%Y-%m-%d}"
        remedy = "Name its next certificate besides in DPGEO_SAML, from its new metadata."
        yield Finding(f"provider {facts['id']}", state, "" if good else remedy)


def _state_of_provider(facts: Facts) -> tuple[str, str]:
    """Return whether a provider of DPGEO_OIDC responds with its description, and what to do if
    not.
    """
    base = facts["server_url"].partition("/.well-known/")[0].rstrip("/")
    try:
        answer = requests.get(f"{base}/.well-known/openid-configuration", timeout=5)
        described = answer.json()
        issuer = str(described["issuer"]).rstrip("/")
        lacking = [name for name in ENDPOINTS if not described.get(name)]
    except (requests.RequestException, ValueError, KeyError, TypeError) as error:
        remedy = "Check server_url in DPGEO_OIDC, and whether it can be reached from here."
        return type(error).__name__, remedy
    if issuer != base:
        return "it names another issuer", "Set server_url in DPGEO_OIDC to the issuer it names."
    if lacking:
        return f"it names no {lacking[0]}", "This site needs it; set it up at the provider."
    return "it describes itself", ""


def check_settings() -> Iterator[Finding]:
    """Run Django's checks and, if others can reach the site, those for deployment."""
    reached = settings.HTTPS or bool({*settings.ALLOWED_HOSTS} - LOCAL)
    messages = [
        each
        for each in checks.run_checks(include_deployment_checks=reached)
        if each.level >= checks.WARNING and not each.is_silenced() and each.id not in REPORTED
    ]
    for each in messages:
        yield Finding(f"settings ({each.id})", each.msg.split("\n")[0], each.hint or each.msg)
    if not messages:
        yield Finding("settings", "no warning")


CHECKS: list[Callable[[], Iterator[Finding]]] = [
    check_versions,
    check_database,
    check_disk,
    check_broker,
    check_workers,
    check_clock,
    check_permissions,
    check_uploads,
    check_mail,
    check_single_sign_on,
    check_settings,
]
