"""`python manage.py reap`: wake jobs that nobody works on, until told to stop."""

from __future__ import annotations

import signal
import threading
from argparse import ArgumentParser
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import Error as DatabaseError
from django.db import close_old_connections

from dpgeo.jobs.services import jobs_reap


class Command(BaseCommand):
    help = "Wakes jobs whose worker died or whose message was lost. Runs until stopped."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--interval", type=float, default=5.0, help="Seconds between rounds.")
        parser.add_argument("--once", action="store_true", help="One round, then stop.")

    def handle(self, *args: Any, interval: float, once: bool, **options: Any) -> None:
        if not 0.1 <= interval <= 300:
            raise CommandError("--interval: give between 0.1 and 300 seconds.")
        stopping = threading.Event()

        def stop(number: int, frame: FrameType | None) -> None:
            stopping.set()

        if not once:
            signal.signal(signal.SIGTERM, stop)
            signal.signal(signal.SIGINT, stop)
        while True:
            self._round()
            if once or stopping.wait(interval):
                return
            close_old_connections()

    def _round(self) -> None:
        try:
            reaped = jobs_reap()
        except DatabaseError as error:
            self.stderr.write(f"The database did not answer ({type(error).__name__}); trying on.")
            return
        if reaped.woken or reaped.failed:
            self.stdout.write(f"woken {reaped.woken}, failed {reaped.failed}")
