"""Option `--tenth`: a tenth of the cases, while the record of a pass is fresh."""

from __future__ import annotations

import pytest

from tests.statistical.record import tenth


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tenth", action="store_true", help="a tenth of the statistical cases")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--tenth"):
        return
    chosen = tenth(item.nodeid for item in items)
    kept = [item for item, is_chosen in zip(items, chosen, strict=True) if is_chosen]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept
