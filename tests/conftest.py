"""Options with which only a fixed sample of the tests is run.

`--one-in N` is for suites that are run in full elsewhere. With `--every-file`, for suites whose
files start different programs, the sample contains the first test of each file. Without `--one-in`,
`--recorded-one-in N` is for the suites of `tests.record`: a suite is sampled only while its files
are unchanged since its last recorded full pass.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.record import RECORDING, ROOT, SUITES, allow_only_recorded_files, is_fresh
from tests.sampling import sample

FRESH = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--one-in", type=int, default=1, help="run the first and every Nth further test"
    )
    parser.addoption(
        "--every-file", action="store_true", help="with --one-in: also the first test of each file"
    )
    parser.addoption(
        "--recorded-one-in",
        type=int,
        default=1,
        help="the same, for suites that have passed whole with the current code",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Find out once, for all test processes, of which suites a sample of the tests is enough."""
    if hasattr(config, "workerinput"):
        config.stash[FRESH] = config.workerinput["fresh"]
    elif config.getoption("--recorded-one-in") > 1:
        config.stash[FRESH] = [name for name, suite in SUITES.items() if is_fresh(suite)]
    else:
        config.stash[FRESH] = []
    if RECORDING in os.environ:
        allow_only_recorded_files(SUITES[os.environ[RECORDING]])


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a parallel test process which suites it may sample instead of running them in full."""
    node.workerinput["fresh"] = node.config.stash[FRESH]


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
    every = config.getoption("--one-in")
    if every > 1:
        keep_one_in(every, config, items, items, every_file=config.getoption("--every-file"))
        return
    on_servers = os.environ.get("DATABASE_URL", "").startswith("postgres")
    for name in config.stash[FRESH]:
        suite = SUITES[name]
        if suite.on_servers == on_servers:
            folder = ROOT / suite.folder
            own = [item for item in items if folder in item.path.parents]
            keep_one_in(config.getoption("--recorded-one-in"), config, items, own)


def keep_one_in(
    every: int,
    config: pytest.Config,
    items: list[pytest.Item],
    own: list[pytest.Item],
    *,
    every_file: bool = False,
) -> None:
    """Keep a sample of one in `every` of the tests `own`; remove their rest from `items`."""
    chosen = sample([item.nodeid for item in own], every, every_file=every_file)
    left_out = [item for item, is_chosen in zip(own, chosen, strict=True) if not is_chosen]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]
