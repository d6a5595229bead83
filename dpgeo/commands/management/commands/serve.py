"""`python manage.py serve`: run the web server, the workers and the reaper."""

from __future__ import annotations

import gc
import logging
import os
import socket
import sys
import tempfile
from argparse import ArgumentParser
from functools import partial
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.core.servers.basehttp import get_internal_wsgi_application
from django.db import connections

from dpgeo.accounts.site_links import LOCAL
from dpgeo.api.health import database_state
from dpgeo.commands import web_server
from dpgeo.commands.supervisor import Copy, Program, Supervisor


class Command(BaseCommand):
    help = "Serves the site and works on its jobs until stopped with Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="Address to listen on.")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument(
            "--workers", type=int, default=2, help="Jobs worked on at the same time."
        )
        parser.add_argument(
            "--processes",
            type=int,
            default=web_server.PROCESSES,
            help="Processes that answer requests.",
        )
        parser.add_argument(
            "--web-only", action="store_true", help="Run no workers and no reaper here."
        )
        parser.add_argument("--demo", action="store_true", help="Make the demo, once.")

    def handle(
        self,
        *args: Any,
        host: str,
        port: int,
        workers: int,
        processes: int,
        web_only: bool,
        demo: bool,
        **options: Any,
    ) -> None:
        for name, value, most in (
            ("port", port, 65535),
            ("workers", workers, 64),
            ("processes", processes, 64),
        ):
            if not 1 <= value <= most:
                raise CommandError(f"--{name} must be a number between 1 and {most}.")
        # Visitors who come while the site is loaded wait, and so do those who come while one of its
        # processes is started again, because this process keeps the socket open.
        listener = self._listen(host, port)
        if not web_only and database_state() == "not migrated":
            raise CommandError("Run `manage.py migrate` and `manage.py collectstatic` first.")
        address = host if host in LOCAL else "127.0.0.1"
        address = f"[{address}]" if ":" in address else address
        os.environ.setdefault("DPGEO_ORIGIN", f"http://{address}:{port}")
        # The child processes look for the project in the working folder.
        os.chdir(settings.BASE_DIR)
        if demo:
            # Child processes inherit this log level: somebody watches the demo on a terminal, where
            # only faults matter.
            os.environ["DPGEO_LOG_LEVEL"] = os.environ.get("DPGEO_LOG_LEVEL", "WARNING")
            logging.getLogger("dpgeo").setLevel(os.environ["DPGEO_LOG_LEVEL"])
            os.environ["DPGEO_DEMO"] = "1"
            settings.DEMO = True
        self._say("  Starting the site")
        programs = [] if web_only else background_programs(workers)
        making = Program("The demo", manage_command("demo"), once=True)
        if demo:
            programs.append(making)
        answer = partial(web_server.serve, load_site(), listener)
        web = [Copy(f"Web {number}", (), work=answer) for number in range(1, processes + 1)]
        supervisor = Supervisor([*web, *programs], say=self._say)
        greeting = Greeting(self, host, port, waiting_for=making if demo else None)
        supervisor.run(each_round=greeting.look)
        self._say("\nStopped. Start it again and it goes on where it was.")

    def _listen(self, host: str, port: int) -> socket.socket:
        other = port + 10 if port < 65000 else 8010
        try:
            return web_server.listen(host, port)
        except OSError:
            raise CommandError(
                f"Port {port} on {host} is taken or not allowed. "
                f"Choose another: --port {other}, or make run PORT={other}"
            ) from None

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


class Greeting:
    """Prints the site's address once it has started, and again once the demo is made."""

    def __init__(self, command: Command, host: str, port: int, waiting_for: Program | None) -> None:
        self.command = command
        self.address = f"http://{host}:{port}/"
        self.waiting_for = waiting_for
        self.announced = False
        self.greeted = False

    def look(self) -> None:
        """Print a message if the site has started, or the demo is finished, since the last call."""
        if self.greeted:
            return
        if self.waiting_for is None or self.waiting_for.finished:
            self.greeted = True
            self.command._say(f"\ndpgeo is at {self.address}  (Ctrl-C stops it)\n")
        elif not self.announced:
            self.announced = True
            self.command._say(
                f"  {self.address} answers. Missing demo maps appear there one by one, within "
                "minutes."
            )


def load_site() -> web_server.Application:
    """Load the site in this process, so that the copies which serve it share its memory."""
    web_server.allow_connections()
    # waitress keeps bodies beyond 512 kB in temporary files. In a container, /tmp is small.
    tempfile.tempdir = str(settings.INCOMING_DIR)
    # The request counts (`api.metrics`) of the processes of the previous server.
    for path in settings.DPGEO_METRICS_DIR.glob("*.db"):
        path.unlink(missing_ok=True)
    application: web_server.Application = get_internal_wsgi_application()
    connections.close_all()
    # A garbage collection would touch, and so copy, all that is shared.
    gc.collect()
    gc.freeze()
    return application


def background_programs(workers: int) -> list[Program]:
    """Return the programs that work on jobs and look after them."""
    return [
        Program("Worker", worker_command(workers)),
        Program("Files", worker_command(1, "files")),
        Program("Reaper", manage_command("reap")),
    ]


def manage_command(*arguments: str) -> list[str]:
    """Return the command line that runs `manage.py` with these arguments."""
    return [sys.executable, "manage.py", *arguments]


def worker_command(workers: int, queue: str = "celery") -> list[str]:
    """Return the command line of a Celery worker that prints only warnings and errors.

    `queue` is "celery" for most jobs, and "files" for files that readers ask for, messages to
    webhooks and mail.
    """
    python = [sys.executable, "-W", "ignore:You're running the worker with superuser"]
    arguments = ["-m", "celery", "-A", "dpgeo.config.celery", "--quiet", "worker"]
    alone = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    kind = ["-Q", queue, "-n", f"{queue}@%h"]
    return [*python, *arguments, *alone, *kind, "--concurrency", str(workers), "-l", "WARNING"]
