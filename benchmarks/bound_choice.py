"""Range errors with four contribution bounds: 1, the advised one, a privately chosen one, the best.

Errors are differences from the true counts without a bound, as shares of the true total. The
private choice is that of `dpgeo.privacy.bound_choice`, made once for each of LIMITS as the largest
bound that it may choose.
"""

from __future__ import annotations

import argparse
import dataclasses
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.bounding import read
from benchmarks.generated import generated
from benchmarks.report import report
from benchmarks.totals import error, random_boxes
from dpgeo.core.advice import Guess, best_bound
from dpgeo.core.epsilon import parse_epsilon
from dpgeo.core.guarantees import Counting
from dpgeo.core.totals import TotalsPlan
from dpgeo.mechanisms.registry import find_mechanism
from dpgeo.postprocess.layers import box_layers, layers
from dpgeo.postprocess.scaling import array_scaling
from dpgeo.privacy.bound_choice import draw
from dpgeo.privacy.mechanism import Mechanism, run
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.boxes import box_image
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.projection import to_mercator
from tests.randomness import SeededEntropy
from tests.views import ArrayView

CANDIDATES = (1, 2, 3, 5, 8, 13, 21, 34, 55, 100, 200)

LIMITS = (20, 200)
"""Upper limits of the privately chosen bound; the choice is made once for each limit."""

USUAL_PERCENT = 5
"""Share of epsilon or rho, in per cent, that pays for a private choice of the bound."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def add_to(subcommands: Any) -> None:
    """Add the subcommand `bound-choice` to the command line."""
    parser = subcommands.add_parser("bound-choice", help=__doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", type=Path, help="Parquet with columns user, lon and lat")
    source.add_argument("--invented", type=int, metavar="PEOPLE", help="invented people instead")
    parser.add_argument("--cells", type=int, default=64)
    parser.add_argument("--mechanism", action="append", help="auto and uniform-grid by default")
    parser.add_argument("--epsilon", action="append", help="may be repeated; 0.1 and 1 by default")
    parser.add_argument("--counting", choices=list(Counting), default=Counting.PEOPLE.value)
    parser.add_argument("--scaled", action="store_true", help="buy totals, and scale maps to them")
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.set_defaults(run=measure)


def measure(options: argparse.Namespace) -> None:
    """Print errors and bounds, a line for each mechanism, epsilon and method of choosing the
    bound.
    """
    counting = Counting(options.counting)
    view = read(options.data, counting) if options.data else invented(options.invented, counting)
    grid = Grid.over(view.area, options.cells)
    pairs = contributions(view, grid)
    person, cell = pairs.T
    truth = np.bincount(cell, minlength=grid.size).reshape(grid.shape).astype(np.float64)
    each_person = np.bincount(person)
    boxes, view = random_boxes(grid), _at_centres(view, grid, pairs)
    for key in options.mechanism or ["auto", "uniform-grid"]:
        for epsilon in options.epsilon or ["0.1", "1"]:
            trial = Trial(find_mechanism(key), view, truth, boxes, options.cells, options.scaled)
            whole = parse_epsilon(epsilon)
            line = {"mechanism": key, "epsilon": epsilon}
            errors = {each: trial.errors(whole, [each] * options.trials) for each in CANDIDATES}
            best = min(errors, key=lambda each: float(errors[each].mean()))
            regions = grid.size if key == "uniform-grid" else 1
            share = float(truth.max() / truth.sum())
            mean = max(1, round(each_person.mean()))
            guess = Guess(people=len(each_person), records=mean, share=share)
            advised = best_bound(guess, float(whole) * (0.8 if regions == 1 else 1), regions)
            rules = {
                "best": errors[best],
                "one": errors[1],
                f"advised {advised}": trial.errors(whole, [advised] * options.trials),
            }
            for name, found in rules.items():
                report(
                    {
                        **line,
                        "rule": name,
                        "bounds": best if name == "best" else "",
                        **_summary(found),
                    },
                    options.json,
                )
            left = whole * (1 - Fraction(USUAL_PERCENT, 100))
            for limit in LIMITS:
                contributors = np.bincount(np.minimum(each_person, limit + 1), minlength=limit + 2)
                stream = SeededEntropy(limit).stream()
                chosen = [draw(contributors, whole - left, stream) for _ in range(options.trials)]
                found = trial.errors(left, chosen)
                report(
                    {
                        **line,
                        "rule": f"private, at most {limit}",
                        "bounds": " ".join(map(str, sorted(chosen))),
                        **_summary(found),
                    },
                    options.json,
                )


def _summary(found: Floats) -> dict[str, float]:
    spread = float(found.std(ddof=1) / len(found) ** 0.5) if len(found) > 1 else 0.0
    return {"error": float(found.mean()), "standard_error": spread}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=False, eq=False)
class Trial:
    """Releases of one mechanism on the same people, compared with `truth` (rows, columns)."""

    mechanism: Mechanism
    view: ArrayView
    truth: Floats
    boxes: Ints
    cells: int
    scaled: bool

    def errors(self, epsilon: Fraction, bounds: list[int]) -> Floats:
        """Return the mean range error of a release for each bound, as a share of the true total."""
        return np.array(
            [self._error(epsilon, bound, number) for number, bound in enumerate(bounds)]
        )

    def _error(self, epsilon: Fraction, bound: int, number: int) -> float:
        usual = TotalsPlan()
        plan = TotalsPlan(sightings=max(bound, usual.sightings), visits=max(bound, usual.visits))
        released = run(
            self.mechanism,
            dataclasses.replace(self.view, bound=bound, salt=number + 1),
            self.mechanism.params(cells=self.cells),
            epsilon,
            SeededEntropy(number),
            {},
            totals=plan if self.scaled else None,
        )
        layer = box_layers(released)[-1]
        image = box_image(layer.boxes, layer.grid.shape)
        surface = np.where(image < 0, 0.0, (layer.value / layer.cells)[image])
        scaling = array_scaling(released, layers(released))
        factor = scaling.factor if scaling and scaling.known else 1.0
        return error(factor * surface, self.truth, self.boxes)


def contributions(view: ArrayView, grid: Grid) -> Ints:
    """Return the person and the cell (n, 2) of every contribution, without a bound."""
    cells = grid.locate(*_mercator(view))
    person = np.unique(np.asarray(view.persons), return_inverse=True)[1]
    pairs = np.stack([person, cells], axis=1)[cells >= 0]
    return np.unique(pairs, axis=0) if view.counting is Counting.PEOPLE else pairs


def _mercator(view: ArrayView) -> tuple[Floats, Floats]:
    return to_mercator(np.asarray(view.longitude), np.asarray(view.latitude))


def _at_centres(view: ArrayView, grid: Grid, pairs: Ints) -> ArrayView:
    """Return contributions (n, 2) for a mechanism to read, at the centres of their cells."""
    row, column = np.divmod(pairs[:, 1], grid.columns)
    west, south, east, north = grid.box_bounds(np.stack([row, row + 1, column, column + 1], 1)).T
    return dataclasses.replace(
        view,
        longitude=(west + east) / 2,
        latitude=(south + north) / 2,
        persons=pairs[:, 0],
    )


def invented(people: int, counting: Counting) -> ArrayView:
    """Return invented people with a median of 12 visits, half of them near a place of their own."""
    random = np.random.default_rng(12)
    visits = np.maximum(1, np.round(12 * np.exp(random.normal(0, 1, people)))).astype(np.int64)
    density = generated("city", 128, 12)
    persons = np.repeat(np.arange(people), visits)
    home = random.choice(density.size, people, p=density.ravel())
    place = random.choice(density.size, persons.size, p=density.ravel())
    row, column = np.divmod(np.where(random.random(persons.size) < 0.5, home[persons], place), 128)
    row = np.clip(row + random.normal(0.5, 1, persons.size), 0, 127.99) / 128
    column = np.clip(column + random.normal(0.5, 1, persons.size), 0, 127.99) / 128
    return ArrayView(
        area=StudyArea.from_bounds(0.0, -0.1, 0.2, 0.1),
        longitude=0.2 * column,
        latitude=0.1 - 0.2 * row,
        persons=persons,
        counting=counting,
        bound=1,
    )
