"""The Released codec and one encoder per file format. Never sees private data."""
