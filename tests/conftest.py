"""The option with which only a share of the test files is run, and a faster start of processes."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from tests.rotation import ROOT, changed_since_tag, commit_count, files_in_turn


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--share",
        type=int,
        default=1,
        help="run one test file in this many, in turn, and those that name a changed module",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Let each parallel test process start importing the test files at a different file.

    Whoever imports a module first compiles it and rewrites its assertions. Processes that import
    all tests in the same order would each do that for all of them.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker is None:
        return
    number = int(worker["workerid"].removeprefix("gw"))
    for path in imported_first(session.config.args, number, worker["workercount"]):
        # A file that cannot be imported fails or is skipped later, when pytest collects it.
        with suppress(Exception, pytest.skip.Exception):
            importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


def imported_first(arguments: Sequence[str], number: int, of: int) -> list[Path]:
    """Return the files that the process `number` (from 0) of `of` test processes imports first."""
    places = [Path(argument.partition("::")[0]).absolute() for argument in arguments]
    files = [
        path
        for place in places
        for path in (sorted(place.rglob("test_*.py")) if place.is_dir() else [place])
    ]
    return files[len(files) * number // of :] if number else []


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    share = config.getoption("--share")
    if share == 1:
        return
    files = sorted({item.path.relative_to(ROOT) for item in items})
    chosen = files_in_turn(files, share, commit_count(), changed_since_tag())
    config.hook.pytest_deselected(
        items=[item for item in items if item.path.relative_to(ROOT) not in chosen]
    )
    items[:] = [item for item in items if item.path.relative_to(ROOT) in chosen]
