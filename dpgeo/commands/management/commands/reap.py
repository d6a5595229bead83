"""`python manage.py reap`: queue lost jobs again, draw the maps of series that are due, publish
releases that are due, delete orphan files.
"""

from __future__ import annotations

import signal
import threading
import time
from argparse import ArgumentParser
from dataclasses import asdict
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import Error as DatabaseError
from django.db import close_old_connections

from dpgeo.accounts.attempts import attempts_forget
from dpgeo.accounts.outgoing_mail import mail_forget, mail_wake
from dpgeo.accounts.rate_counters import counters_forget
from dpgeo.datasets.orphan_files import uploads_sweep, work_sweep
from dpgeo.jobs.services import jobs_reap
from dpgeo.pages.cards import cards_make
from dpgeo.releases.alerts import alerts_send
from dpgeo.releases.publication import releases_publish_due
from dpgeo.releases.reconciliation import releases_sweep
from dpgeo.releases.series import series_draw_due
from dpgeo.webhooks.services import deliveries_forget, deliveries_wake

SWEEP_SECONDS = 3600.0
"""Seconds between two searches for orphan files; these are less urgent than queueing lost jobs
again.
"""

CARD_SECONDS = 2.0
"""Most seconds that each round spends on storing the facts that lists show about maps
(`pages.cards`).
"""

WORK_SWEEP_SECONDS = 60.0
"""Seconds between two searches for the work folders of processes that were killed."""


class Command(BaseCommand):
    help = (
        "Wakes jobs whose worker died, draws and publishes what is due, and clears up after kills. "
        "Runs until stopped."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--interval", type=float, default=5.0, help="Seconds between rounds.")
        parser.add_argument(
            "--once", action="store_true", help="One round with everything, then stop: for cron."
        )

    def handle(self, *args: Any, interval: float, once: bool, **options: Any) -> None:
        if not 0.1 <= interval <= 300:
            raise CommandError("--interval: give between 0.1 and 300 seconds.")
        stopping = threading.Event()

        def stop(number: int, frame: FrameType | None) -> None:
            stopping.set()

        if not once:
            signal.signal(signal.SIGTERM, stop)
            signal.signal(signal.SIGINT, stop)
        sweep_due = work_sweep_due = time.monotonic()
        while True:
            now = time.monotonic()
            sweeps, sweeps_work = now >= sweep_due, now >= work_sweep_due
            if sweeps:
                sweep_due += SWEEP_SECONDS
            if sweeps_work:
                work_sweep_due = now + WORK_SWEEP_SECONDS
            self._round(sweeps, sweeps_work)
            if once or stopping.wait(interval):
                return
            close_old_connections()

    def _round(self, sweeps: bool, sweeps_work: bool) -> None:
        """Run one round of the reaper.

        `sweeps` says whether to delete old files from the storages, and `sweeps_work` whether to
        delete those in work folders.

        Lost draws are recovered before lost jobs are queued again: a job whose draw the database
        does not name would otherwise draw noise a second time.
        """
        done: dict[str, int] = {}
        try:
            if sweeps:
                done = asdict(releases_sweep())
                done["files"] += uploads_sweep()
                deliveries_forget()
                counters_forget()
                attempts_forget()
                mail_forget()
            if sweeps_work:
                done["files"] = done.get("files", 0) + work_sweep()
            done["series"] = series_draw_due()
            reaped = jobs_reap()
            done["published"] = releases_publish_due()
            done["webhooks"] = deliveries_wake()
            done["mail"] = mail_wake()
            cards_make(seconds=CARD_SECONDS)
            if sweeps_work:  # Alerts are sent last, since a mail server or webhook may be slow.
                done["alerts"] = alerts_send()
        except (DatabaseError, OSError) as error:
            self.stderr.write(f"No answer ({type(error).__name__}); trying on.")
            return
        done = {"woken": reaped.woken, "failed": reaped.failed, **done}
        if any(done.values()):
            told = (f"{what} {number}" for what, number in done.items() if number)
            self.stdout.write(", ".join(told))
