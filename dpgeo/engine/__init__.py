"""Reading, contribution bounding and counting of canonical files with DuckDB."""
