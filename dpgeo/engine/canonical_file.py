"""Canonical Parquet file, read by DuckDB within a memory limit."""

from __future__ import annotations

import glob
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

SALT_BYTES = 16

MEMORY_BYTES = 1 << 30
"""DuckDB's memory limit; the process as a whole needs about 300 MB more."""

SPILL_BYTES = 64 << 30
"""Limit on the total size, in bytes, of DuckDB's temporary files."""

Parameters = dict[str, str | int | float | list[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonicalFile:
    """The file at `path` and the settings with which it is read.

    `salt` is 16 secret bytes; another length raises ValueError. Data that do not fit in
    `memory_bytes` are spilled to `folder`, or to the system's temporary folder if it is None.
    """

    path: Path
    salt: bytes = field(repr=False)
    folder: Path | None
    memory_bytes: int
    threads: int

    def __post_init__(self) -> None:
        if len(self.salt) != SALT_BYTES:
            raise ValueError(f"The salt must have {SALT_BYTES} bytes.")

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """Create a temporary folder that is removed at the end of the block."""
        with tempfile.TemporaryDirectory(prefix="dpgeo-count-", dir=self.folder) as name:
            yield Path(name)

    @contextmanager
    def connected(self, scratch: Path) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open a DuckDB connection that spills to `scratch` and loads no extensions."""
        import duckdb

        connection = duckdb.connect(
            config={
                "threads": self.threads,
                "memory_limit": f"{self.memory_bytes}B",
                "temp_directory": str(scratch),
                "max_temp_directory_size": f"{SPILL_BYTES}B",
                "preserve_insertion_order": False,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
            }
        )
        # DuckDB's progress bar would show how long a query takes, which depends on private data.
        connection.execute("SET enable_progress_bar = false")
        try:
            yield connection
        finally:
            connection.close()

    def salt_words(self) -> Parameters:
        """Return the salt as the two 64-bit parameters that queries take."""
        half = SALT_BYTES // 2
        return {
            "salt_high": int.from_bytes(self.salt[:half]),
            "salt_low": int.from_bytes(self.salt[half:]),
        }


def as_pattern(path: Path) -> str:
    """Escape `path` for `read_parquet`, which expands wildcards."""
    return glob.escape(str(path))
