"""Option `--one-in N`, which runs a fixed sample of the tests in each file.

It is meant for suites that are run in full elsewhere.
"""

from __future__ import annotations

import pytest

from tests.sampling import sample


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--one-in", type=int, default=1, help="run the first and every Nth further test of a file"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    every = config.getoption("--one-in")
    if every == 1:
        return
    chosen = sample((item.nodeid for item in items), every)
    config.hook.pytest_deselected(
        items=[item for item, chosen_item in zip(items, chosen, strict=True) if not chosen_item]
    )
    items[:] = [item for item, chosen_item in zip(items, chosen, strict=True) if chosen_item]
