"""One runner over the registry: `python -m benchmarks accuracy|speed`. Each prints JSON lines."""
