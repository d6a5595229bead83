"""Where dpgeo connects to DuckDB, and that no progress bar is shown there."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_no_other_place_connects_to_duckdb_and_may_show_a_progress_bar() -> None:
    """A progress bar in a worker's output would reveal how long a query of private data takes."""
    found = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for folder in ("dpgeo", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
        if "duckdb.connect(" in path.read_text(encoding="utf-8")
    }
    assert sorted(found) == ["benchmarks/trips.py", "dpgeo/engine/canonical_file.py"]
    for text in found.values():
        assert text.count("duckdb.connect(") == text.count("SET enable_progress_bar = false") == 1
