"""Times of two functions that run alternately, and the line that reports them."""

from __future__ import annotations

import time
from collections.abc import Callable

Line = dict[str, str | float]


def best_of(
    repeat: int,
    ours: Callable[[], object],
    reference: Callable[[], object],
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[float, float]:
    """Return the shortest time of each function.

    The two functions run alternately, so that both see the same load. `clock` returns seconds, by
    default of elapsed time.
    """
    times: list[tuple[float, float]] = []
    for _ in range(repeat):
        started = clock()
        ours()
        between = clock()
        reference()
        times.append((between - started, clock() - between))
    return min(first for first, _ in times), min(second for _, second in times)


def compared(name: str, ours: float, reference: str, reference_seconds: float) -> Line:
    """Return a line with the times of dpgeo and of a reference, and their ratio.

    A ratio below 1 means that dpgeo is faster.
    """
    return {
        "name": name,
        "ours_s": ours,
        "reference": reference,
        "reference_s": reference_seconds,
        "ratio": ours / reference_seconds,
    }
