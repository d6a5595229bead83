"""Options with which a fixed sample of the tests in each file is run.

`--one-in N` is meant for suites that are run in full elsewhere, and `--recorded-one-in N` for those
of `tests.record`: a suite is sampled only while the suite's recorded pass is fresh.
"""

from __future__ import annotations

import pytest

from tests.record import ROOT, SUITES, is_fresh
from tests.sampling import sample


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--one-in", type=int, default=1, help="run the first and every Nth further test of a file"
    )
    parser.addoption(
        "--recorded-one-in",
        type=int,
        default=1,
        help="the same, for suites that have passed whole with the current code",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    keep_one_in(config.getoption("--one-in"), config, items, items)
    every = config.getoption("--recorded-one-in")
    for suite in SUITES.values() if every > 1 else ():
        folder = ROOT / suite.folder
        own = [item for item in items if folder in item.path.parents]
        if own and is_fresh(suite):
            keep_one_in(every, config, items, own)


def keep_one_in(
    every: int, config: pytest.Config, items: list[pytest.Item], own: list[pytest.Item]
) -> None:
    """Remove from `items` those of `own` that are not in a sample of one in `every`."""
    chosen = sample((item.nodeid for item in own), every)
    left_out = [item for item, is_chosen in zip(own, chosen, strict=True) if not is_chosen]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]
