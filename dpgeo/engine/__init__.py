"""Where canonical data is read, bounded and aggregated (DuckDB). No noise."""
