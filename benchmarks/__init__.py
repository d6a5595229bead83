"""Benchmarks over the registry: `python -m benchmarks accuracy

speed

...`.

Each prints lines of figures, or JSON lines.
"""
