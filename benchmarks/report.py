"""Output of the benchmarks, as lines for people or as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Mapping


def report(figures: Mapping[str, str | float], as_json: bool) -> None:
    """Print a line of figures at once, so that long runs can be watched."""
    if as_json:
        print(json.dumps(figures), flush=True)
        return
    cells = [
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in figures.items()
    ]
    print("   ".join(cells), flush=True)
