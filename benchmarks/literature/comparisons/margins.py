"""Relative errors of several tables of the same people: counts of rows, columns and blocks of a
map.

`relative_error` is the mean over the tables of the mean relative error of a table's counts. An
error is divided by the count, or by the constant SANITY if the count is smaller.
If a file is given, people are spread as in its square .npy array of counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.literature.comparisons.own import counts_of, heatmap
from benchmarks.literature.refining import refined
from benchmarks.literature.trials import Line, Options, line

Floats = NDArray[np.float64]

CELLS = 64
PEOPLE = 10_000
SANITY = 10.0


def compare(options: Options) -> Iterator[Line]:
    """Yield a line of output for each method: its mean errors over the trials (`trials.line`)."""
    whole = counts_of(options.file, CELLS, PEOPLE)
    tables, epsilon = margins(whole), options.budget

    def errors(estimate: Sequence[Floats]) -> Mapping[str, float]:
        relative = [
            float(np.mean(np.abs(own - table) / np.maximum(table, SANITY)))
            for own, table in zip(estimate, tables, strict=True)
        ]
        return {"relative_error": float(np.mean(relative))}

    def divided(random: Generator) -> Mapping[str, float]:
        scale = len(tables) / epsilon
        return errors([table + random.laplace(0, scale, table.shape) for table in tables])

    yield line("Laplace, equal shares", "Dwork et al. 2006", divided, options)
    yield line(
        "iReduct",
        "Xiao et al. 2011",
        lambda r: errors(refined(tables, epsilon, r, sanity=SANITY)[0]),
        options,
    )
    yield line(
        "dpgeo, auto",
        "dpgeo",
        lambda r: errors(margins(heatmap("auto", whole, options.epsilon, r))),
        options,
    )


def margins(cells: NDArray[np.int64] | Floats) -> list[Floats]:
    """Return four arrays: the counts of rows, of columns, of blocks of 8 x 8 cells and of
    quarters.
    """
    return [
        np.asarray(table, dtype=np.float64)
        for table in (
            cells.sum(axis=1),
            cells.sum(axis=0),
            _blocks(cells, 8).ravel(),
            _blocks(cells, 2).ravel(),
        )
    ]


def _blocks(cells: NDArray[np.int64] | Floats, parts: int) -> Floats:
    side = len(cells) // parts
    return np.asarray(cells.reshape(parts, side, parts, side).sum(axis=(1, 3)), dtype=np.float64)
