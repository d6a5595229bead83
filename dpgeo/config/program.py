"""`dpgeo serve | manage`: the program that the installed package provides.

`dpgeo serve` brings the database and the static files up to date, then serves the site. `dpgeo
manage COMMAND` is Django's `manage.py`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from django.core.management import execute_from_command_line
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

import dpgeo

USAGE = """\
usage: dpgeo serve [--port 8000] [--host 127.0.0.1] [--workers 2] [--demo]
       dpgeo manage COMMAND ...   (`dpgeo manage help` lists the commands)
       dpgeo --version

Data are in ~/.local/share/dpgeo; DPGEO_VAR names another folder.
"""


FOLDERS = ("DPGEO_VAR", "DPGEO_STATIC", "DPGEO_PERSON_KEY_FILE")
"""Names of the settings that are paths.

Relative paths are resolved here, so that child processes in another working folder use the same
ones.
"""


def main(words: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status, which is 2 if the command does not exist."""
    given = list(sys.argv[1:] if words is None else words)
    command = given[0] if given else "--help"
    if command in {"--version", "-V"}:
        sys.stdout.write(f"dpgeo {dpgeo.__version__}\n")
    elif command in {"--help", "-h", "help"}:
        sys.stdout.write(USAGE)
    elif command in {"serve", "manage"}:
        _manage(command, given[1:])
    else:
        sys.stderr.write(USAGE)
        return 2
    return 0


def run(words: Sequence[str]) -> None:
    """Run one of Django's commands.

    If it fails because the database lacks tables, the process ends with a sentence that says so
    instead of a traceback.
    """
    try:
        execute_from_command_line([*words])
    except DatabaseError:
        if _lacks_tables():
            sys.exit(
                "The database has no tables yet, or lacks some of this version. Run the command "
                "`migrate` first."
            )
        raise


def _lacks_tables() -> bool:
    try:
        executor = MigrationExecutor(connection)
        return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    except DatabaseError:
        return False


def _manage(command: str, words: list[str]) -> None:
    for name in FOLDERS:
        if path := os.environ.get(name):
            os.environ[name] = str(Path(path).absolute())
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dpgeo.config.settings")
    if command == "serve":
        if not {"-h", "--help"} & set(words):
            execute_from_command_line(["dpgeo", "migrate", "--verbosity", "0"])
            execute_from_command_line(["dpgeo", "collectstatic", "--noinput", "--verbosity", "0"])
        words = ["serve", *words]
    run(["dpgeo manage", *words])


if __name__ == "__main__":
    sys.exit(main())
