"""`python manage.py serve`: run the web server, the workers and the reaper."""

from __future__ import annotations

import os
import socket
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from dpgeo.accounts.site_links import LOCAL
from dpgeo.api.health import database_state
from dpgeo.commands.supervisor import Program, Supervisor


class Command(BaseCommand):
    help = "Serves the site and works on its jobs until stopped with Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="Address to listen on.")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument(
            "--workers", type=int, default=2, help="Jobs worked on at the same time."
        )
        parser.add_argument("--demo", action="store_true", help="Make the demo, once.")

    def handle(
        self, *args: Any, host: str, port: int, workers: int, demo: bool, **options: Any
    ) -> None:
        if not 0 < port < 65536:
            raise CommandError("--port: give a number between 1 and 65535.")
        if not 1 <= workers <= 64:
            raise CommandError("--workers: give a number between 1 and 64.")
        other = port + 10 if port < 65000 else 8010
        if not can_listen(host, port):
            raise CommandError(
                f"Port {port} on {host} is taken or not allowed. "
                f"Choose another: --port {other}, or make run PORT={other}"
            )
        if database_state() == "not migrated":
            raise CommandError("Run `manage.py migrate` and `manage.py collectstatic` first.")
        address = host if host in LOCAL else "127.0.0.1"
        address = f"[{address}]" if ":" in address else address
        os.environ.setdefault("DPGEO_ORIGIN", f"http://{address}:{port}")
        # The child processes look for the project in the working folder.
        os.chdir(settings.BASE_DIR)
        programs = [
            Program("Web", web_command(host, port)),
            # Discard the worker's output, because Celery prints messages when it shuts down.
            Program("Worker", worker_command(workers), quiet=True),
            Program("Files", worker_command(1, "files"), quiet=True),
            Program("Reaper", manage_command("reap")),
        ]
        making = Program("The demo", manage_command("demo"), once=True)
        if demo:
            # Child processes inherit this log level: somebody watches the demo on a terminal, where
            # only faults matter.
            os.environ.setdefault("DPGEO_LOG_LEVEL", "WARNING")
            os.environ["DPGEO_DEMO"] = "1"
            programs.append(making)
        self._say("  Starting the site")
        supervisor = Supervisor(programs, say=self._say)
        greeting = Greeting(self, host, port, waiting_for=making if demo else None)
        supervisor.run(each_round=greeting.look)
        self._say("\nStopped. Start it again and it goes on where it was.")

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


class Greeting:
    """Prints the site's address as soon as the site responds, and again once the demo is made."""

    def __init__(self, command: Command, host: str, port: int, waiting_for: Program | None) -> None:
        self.command, self.host, self.port = command, host, port
        self.waiting_for = waiting_for
        self.responded = False
        self.greeted = False

    def look(self) -> None:
        """Print a message if the site has begun to respond, or the demo is finished, since the last
        call.
        """
        if self.greeted or not (self.responded or can_connect(self.host, self.port)):
            return
        address = f"http://{self.host}:{self.port}/"
        if self.waiting_for is None or self.waiting_for.finished:
            self.greeted = True
            self.command._say(f"\ndpgeo is at {address}  (Ctrl-C stops it)\n")
        elif not self.responded:
            self.command._say(
                f"  {address} answers. Missing demo maps appear there one by one, within minutes."
            )
        self.responded = True


def manage_command(*arguments: str) -> list[str]:
    """Return the command line that runs `manage.py` with these arguments."""
    return [sys.executable, "manage.py", *arguments]


def web_command(host: str, port: int) -> list[str]:
    """Return the command line that starts gunicorn, which `config.gunicorn` configures."""
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    arguments = ["-m", "gunicorn", "-c", "python:dpgeo.config.gunicorn", "--bind", address]
    return [sys.executable, *arguments, "dpgeo.config.wsgi"]


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


def can_listen(host: str, port: int) -> bool:
    """Return whether a server can listen at the address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def can_connect(host: str, port: int) -> bool:
    """Return whether a server responds at the address."""
    try:
        socket.create_connection((host, port), timeout=0.5).close()
    except OSError:
        return False
    return True
