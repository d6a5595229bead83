"""Reading, bounding and counting of canonical files with DuckDB, without noise."""
