"""Benchmarks of the mechanisms and the site: `python -m benchmarks SUBCOMMAND`.

Each benchmark prints its results as lines of figures, or as JSON lines with `--json`.
"""
