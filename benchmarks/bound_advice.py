"""Errors of cells at the advised contribution bound, as multiples of those at the best bound.

Errors against the true counts without a bound are computed exactly, not simulated. Of a person's c
contributions, min(l, c) are kept at random, and every cell has the noise of a uniform grid. Guesses
for the advice are the people, the mean number of their contributions, and the true share of the
busiest cell. Three choices of l are compared: 1, the advice of `dpgeo.core.advice`, which assumes
that people differ, and the bound that would have the smallest mean square error if everybody had
the mean number of contributions.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.bound_choice import contributions, invented
from benchmarks.bounding import read
from benchmarks.report import report
from dpgeo.core.advice import Guess, best_bound
from dpgeo.core.epsilon import parse_epsilon
from dpgeo.core.guarantees import Counting
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.spatial.grid import Grid

BOUNDS = np.unique(np.rint(np.geomspace(1, 10_000, 60)).astype(np.int64))
"""Bounds among which the best is searched for; a larger advised bound is replaced by the
largest.
"""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def add_to(subcommands: Any) -> None:
    """Add the subcommand `bound-advice` to the command line."""
    parser = subcommands.add_parser("bound-advice", help=__doc__)
    parser.add_argument(
        "--data", type=Path, action="append", default=[], help="Parquet: user, lon, lat; repeatable"
    )
    parser.add_argument("--invented", type=int, metavar="PEOPLE", help="invented people as well")
    parser.add_argument("--cells", type=int, action="append", help="32, 64 and 128 by default")
    parser.add_argument("--epsilon", action="append", help="0.1 and 1 by default")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.set_defaults(run=measure)


def measure(options: argparse.Namespace) -> None:
    """Print a line for each row; for each rule, print the geometric mean and maximum over all rows.

    Each row is a combination of a dataset, what is counted (people or visits), cells a side,
    epsilon, and an error: the root mean square error over all cells, or the error of the busiest
    cell. A rule's figure is the error at the bound that it advises, divided by the least error.
    """
    multiples: dict[tuple[str, str], list[float]] = {}
    sources: list[Path | int] = [*options.data, *([options.invented] if options.invented else [])]
    for source in sources:
        for counting in Counting:
            view = (
                read(source, counting) if isinstance(source, Path) else invented(source, counting)
            )
            for cells in options.cells or [32, 64, 128]:
                grid = Grid.over(view.area, cells)
                people = People.of(contributions(view, grid), grid.size)
                for epsilon in options.epsilon or ["0.1", "1"]:
                    for name, line in rows(people, parse_epsilon(epsilon)).items():
                        for rule in RULES:
                            multiples.setdefault((name, rule), []).append(float(line[rule]))
                        about: dict[str, str | float] = {
                            "data": source.stem if isinstance(source, Path) else "invented",
                            "counting": counting.value,
                            "cells": cells,
                            "epsilon": epsilon,
                            "error": name,
                        }
                        report({**about, **line}, options.json)
    for (name, rule), found in multiples.items():
        summary: dict[str, str | float] = {"error": name, "rule": rule, "rows": len(found)}
        mean = float(np.exp(np.log(found).mean()))
        report({**summary, "geometric_mean": mean, "largest": max(found)}, options.json)


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """What each person adds to each cell: triples of `person`, `cell` and `times`, all (n,).

    `of_person` (people,) is a person's number of contributions; `truth` (cells,) are the counts
    without a bound.
    """

    person: Ints
    cell: Ints
    times: Ints
    of_person: Ints
    truth: Floats

    @classmethod
    def of(cls, pairs: Ints, cells: int) -> People:
        """Return the people whose contributions are `pairs` (n, 2), each of a person and a cell."""
        pairs, times = np.unique(pairs, axis=0, return_counts=True)
        person = np.unique(pairs[:, 0], return_inverse=True)[1]
        truth = np.zeros(cells)
        np.add.at(truth, pairs[:, 1], times)
        of_person = np.bincount(person, weights=times).astype(np.int64)
        return cls(person, pairs[:, 1], times, of_person, truth)

    def squares(self, bound: int, epsilon: Fraction) -> Floats:
        """Return each cell's mean square error (cells,) at a bound.

        A person's kept contributions to a cell have a hypergeometric distribution.
        """
        whole = self.of_person[self.person].astype(np.float64)
        kept = np.minimum(bound, whole)
        share = self.times / whole
        lost = self.times - kept * share
        varied = kept * share * (1 - share) * (whole - kept) / np.maximum(whole - 1, 1)
        size = self.truth.size
        bias = np.bincount(self.cell, weights=lost, minlength=size)
        variance = np.bincount(self.cell, weights=varied, minlength=size)
        noise = float(DiscreteLaplace(epsilon, bound).variance)
        return np.asarray(np.square(bias) + variance + noise)


def rows(people: People, epsilon: Fraction) -> dict[str, dict[str, str | float]]:
    """Return the best bound and its error, for errors over all cells and in the busiest cell.

    For each rule that advises a bound, that bound is included, and its error divided by the best
    bound's error.
    """
    busiest = int(people.truth.argmax())
    measures: dict[str, tuple[int, Callable[[Floats], float]]] = {
        "all cells": (people.truth.size, lambda squares: float(squares.mean())),
        "busiest cell": (1, lambda squares: float(squares[busiest])),
    }
    squares = {int(bound): people.squares(int(bound), epsilon) for bound in BOUNDS}
    guess = Guess(
        people=len(people.of_person),
        records=max(1, round(float(people.of_person.mean()))),
        share=float(people.truth[busiest] / people.truth.sum()),
    )
    found: dict[str, dict[str, str | float]] = {}
    for name, (regions, mean) in measures.items():
        best = min(squares, key=lambda bound: mean(squares[bound]))
        line: dict[str, str | float] = {
            "best_bound": best,
            "best_error": math.sqrt(mean(squares[best])),
        }
        for rule, advise in RULES.items():
            bound = min(advise(guess, float(epsilon), regions), int(BOUNDS[-1]))
            error = mean(people.squares(bound, epsilon))
            line[f"{rule}_bound"] = bound
            line[rule] = math.sqrt(error / mean(squares[best]))
        found[name] = line
    return found


def alike(guess: Guess, epsilon: float, regions: int) -> int:
    """Return the bound with the smallest mean square error if everybody had `guess.records`
    visits.
    """
    squares, shares = (guess.share**2, guess.share) if regions == 1 else (guess.share**1.5, 1.0)

    def error(bound: int) -> float:
        lost = guess.records - bound
        bias, spread = guess.people**2 * squares * lost**2, guess.people * (shares - squares) * lost
        return bias + spread + 2 * regions * (bound / epsilon) ** 2

    return min(range(1, guess.records + 1), key=error)


RULES: dict[str, Callable[[Guess, float, int], int]] = {
    "one": lambda guess, epsilon, regions: 1,
    "alike": alike,
    "advised": best_bound,
}
