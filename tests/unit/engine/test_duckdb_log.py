"""DuckDB's log contains no key and no salt."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import numpy as np
import pytest

from dpgeo.core.domain import Domain
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.engine.canonical_file import CanonicalFile
from dpgeo.engine.duckdb_view import DuckDBView
from dpgeo.spatial.grid import Grid
from tests.unit.engine.canonical import AREA, wanderers, write

PLANTED = 7_316_717_653_133_062_491


def test_no_salt_stands_in_the_log_of_queries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "rows.parquet", wanderers(np.random.default_rng(3), 20, 200))
    salt = PLANTED.to_bytes(8) + (PLANTED + 1).to_bytes(8)
    connected = CanonicalFile.connected
    logged: list[str] = []

    @contextmanager
    def logging(file: CanonicalFile, scratch: Path) -> Iterator[duckdb.DuckDBPyConnection]:
        with connected(file, scratch) as connection:
            off = ("enable_logging", "enable_progress_bar", "enable_profiling", "log_query_path")
            for name in off:
                (value,) = connection.execute("SELECT current_setting(?)", [name]).fetchone() or ()
                assert value in (False, None, ""), name
            connection.execute("CALL enable_logging('QueryLog')")
            yield connection
            found = connection.execute("SELECT message FROM duckdb_logs").fetchall()
            logged.extend(message for (message,) in found)
            # The check works: a number that is in a query is found in the log.
            connection.execute(f"SELECT {PLANTED}")
            found = connection.execute("SELECT message FROM duckdb_logs").fetchall()
            assert str(PLANTED) in str(found)

    monkeypatch.setattr(CanonicalFile, "connected", logging)
    for counting in Counting:
        view = DuckDBView(
            path, domain=Domain(AREA), unit=Unit.PERSON, counting=counting, bound=3, salt=salt
        )
        view.histogram(Grid.over(AREA, 8))
    text = "\n".join(logged)
    assert "$salt_high" in text
    for half in (salt[:8], salt[8:]):
        assert str(int.from_bytes(half)) not in text
        assert half.hex() not in text.lower()
