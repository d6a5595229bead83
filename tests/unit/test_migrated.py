"""The copy of a migrated database, with which test databases begin."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from tests import conftest
from tests.migrated import ROOT, migrated_database


def test_the_copy_is_made_once_and_read_without_a_log_of_writes(tmp_path: Path) -> None:
    content = migrated_database()
    assert migrated_database() == content
    copy = tmp_path / "copy.sqlite3"
    copy.write_bytes(content)
    with sqlite3.connect(copy) as database:
        assert database.execute("SELECT count(*) FROM django_migrations").fetchone()[0] > 20
        assert database.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_parallel_processes_import_different_tests_first() -> None:
    """The first process imports test files in order; each other one begins with a later file."""
    folder = "tests/unit/core"
    files = sorted((ROOT / folder).rglob("test_*.py"))
    assert conftest.imported_first([folder], 0, 2) == []
    assert conftest.imported_first([f"{folder}::test_a"], 1, 2) == files[len(files) // 2 :]
