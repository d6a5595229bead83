"""The pytest mark `one_database`, for modules that only `make audit` runs with PostgreSQL."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

MARK = "pytest.mark.one_database"

FOLDER = Path(__file__).parent

DATABASE = re.compile(
    r"""transaction=True | captureOnCommit | on_commit | \batomic\b | select_for_update
    | IntegrityError | DatabaseError | OperationalError
    | from\ django\.db\ import | from\ django\.core\.cache\ import | Thread | \bBarrier\b
    | \border_by\b | \bJSONField\b | assert_num_queries | assertNumQueries | \bbudget_debit\b
    | throttl | _MINUTE\b | _SIGN_INS\b | MigrationExecutor""",
    re.VERBOSE,
)
"""Matches code that may depend on the database.

Examples are locks, constraints, transactions, JSON in rows, ordering, and counters in the cache.
"""

MODULES = sorted(FOLDER.glob("test_*.py"))
MARKED = [path for path in MODULES if MARK in path.read_text() and path.name != Path(__file__).name]


def test_most_modules_run_on_both_databases() -> None:
    assert 0 < len(MARKED) < len(MODULES) / 2


@pytest.mark.parametrize("path", MARKED, ids=lambda path: path.stem)
def test_modules_that_depend_on_the_database_are_not_marked(path: Path) -> None:
    assert not DATABASE.findall(path.read_text())


def test_dependence_on_the_database_would_be_found() -> None:
    dependent = {path.stem for path in MODULES if DATABASE.search(path.read_text())}
    assert {"test_jobs", "test_lists", "test_api_throttling", "test_sign_in_limits"} <= dependent
