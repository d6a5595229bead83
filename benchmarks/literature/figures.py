"""Figures of the comparisons: an error of each system, by epsilon or by another parameter."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from benchmarks.charts import line_chart
from benchmarks.literature.comparisons import crowdsourcing, edges, inside, venues
from benchmarks.literature.trials import Line, Options

EPSILONS = tuple(Fraction(each) for each in ("0.05", "0.1", "0.2", "0.5", "1"))

Compare = Callable[[Options], Iterator[Line]]


@dataclass(frozen=True, slots=True)
class Across:
    """Horizontal axis of a figure: the parameter for whose values a comparison is repeated.

    `run` makes the comparison for one of the `values`. Without it, the axis shows epsilon.
    """

    name: str
    values: Sequence[float] = ()
    run: Callable[[Options, float], Iterator[Line]] | None = None


EPSILON = Across("epsilon")


SPREADS = 2
"""Number of standard errors that the bars of a figure show above and below a mean."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart of one error; the fields that describe its axes are those of `line_chart`."""

    error: str
    title: str
    logarithmic: bool = False
    level: float | None = None
    from_zero: bool = True
    across: Across = EPSILON


def _sized(options: Options, size: float) -> Iterator[Line]:
    return inside.varied(options, size=int(size))


def _shared(options: Options, share: float) -> Iterator[Line]:
    return inside.varied(options, share=share)


def _halved(options: Options, cells: float) -> Iterator[Line]:
    return inside.half_partition(options, int(cells))


def _smoothed(options: Options, smooth: float) -> Iterator[Line]:
    return inside.varied(options, smooth=smooth)


def _parted(options: Options, apart: float) -> Iterator[Line]:
    return inside.varied(options, apart=apart)


def _aimed(options: Options, target: float) -> Iterator[Line]:
    return crowdsourcing.compare(options, target=target)


def _rewarded(options: Options, reward: float) -> Iterator[Line]:
    return crowdsourcing.compare(options, reward=reward)


def _venues(options: Options, bound: float) -> Iterator[Line]:
    return venues.compare(options, bound=int(bound))


def _edges(options: Options, bound: float) -> Iterator[Line]:
    return edges.compare(options, bound=int(bound))


BOUNDS = (1, 2, 5, 10, 20, 50, 100)
TARGET = Across("expected success E", (0.8, 0.85, 0.9, 0.95), _aimed)
REWARD = Across("mean reward of a task", (1.5, 2, 4, 8, 16), _rewarded)
ERROR, DISTANCE = "Mean absolute error of a query", "Distance error of a task, metres"
COST = "Cost of a task: rewards paid and 0.01 for each worker asked"

FIGURES: Mapping[str, tuple[Figure, ...]] = {
    "boxes": (Figure("box_error", "Mean absolute error of a random box", logarithmic=True),),
    "places": (
        Figure("rmse", "Root mean square error of a place", logarithmic=True),
        Figure("kl", "Divergence from the true distribution, nats"),
        Figure("precision", "Share of the 50 busiest places that is found"),
    ),
    "averages": (Figure("rmse", "Root mean square error of a mean", logarithmic=True),),
    "regression": (Figure("line_error", "Distance from the least-squares line", True),),
    "classification": (Figure("accuracy", "Share of classes that is predicted", from_zero=False),),
    "linkage": (
        Figure("reduction", "Reduction ratio of blocking", from_zero=False),
        Figure("kept", "Share of true pairs that is still compared"),
    ),
    "prilocation": (
        Figure("de", "Distance error by the source's equation", logarithmic=True),
        Figure("honest", "Distance error with fakes counted", logarithmic=True),
    ),
    "crowdsourcing": (
        Figure("success", "Share of tasks that somebody accepts", level=0.9),
        Figure("distance_error", DISTANCE),
        Figure("distance_error", DISTANCE, across=TARGET),
        Figure("distance_error", DISTANCE, across=REWARD),
        Figure("cost", COST),
        Figure("cost", COST, across=TARGET),
        Figure("cost", COST, across=REWARD),
    ),
    "inside": (
        Figure("error", ERROR, across=Across("cells in the query", range(1, 12), _sized)),
        Figure(
            "error",
            ERROR,
            across=Across("share of epsilon for cells", (0.1, 0.25, 0.5, 0.7, 0.9), _shared),
        ),
        Figure("error", ERROR, across=Across("cells in the partition", (2, 4, 8, 16, 32), _halved)),
        Figure("error", ERROR, across=Across("smoothness gamma", (1, 2, 5, 10, 20), _smoothed)),
        Figure("error", ERROR, across=Across("inconsistency eta", (1, 2, 5, 10, 20), _parted)),
    ),
    "venues": (
        Figure(
            "rmse",
            "Root mean square error of a place",
            True,
            across=Across("bound l", BOUNDS, _venues),
        ),
    ),
    "edges": (
        Figure(
            "rmse",
            "Root mean square error of a place and day",
            True,
            across=Across("bound l", BOUNDS, _edges),
        ),
    ),
}
"""The figures that are drawn, by comparison; comparisons without figures are absent."""


def draw(task: str, compare: Compare, options: Options, folder: Path) -> None:
    """Write the figures of a comparison into a folder, which is made if it is not there."""
    folder.mkdir(exist_ok=True)
    runs: dict[str, dict[float, list[Line]]] = {}
    for figure in FIGURES[task]:
        if figure.across.name not in runs:
            runs[figure.across.name] = _runs(figure.across, compare, options)
        lines = runs[figure.across.name]
        curves: dict[str, list[tuple[float, float]]] = {}
        spreads: dict[str, list[float]] = {}
        for place, systems in lines.items():
            for system in systems:
                if figure.error in system:
                    name = str(system["system"])
                    curves.setdefault(name, []).append((place, float(system[figure.error])))
                    spread = float(system.get(f"{figure.error}_se", 0.0))
                    spreads.setdefault(name, []).append(SPREADS * spread)
        chart = line_chart(
            figure.title,
            figure.across.name,
            curves,
            level=figure.level,
            logarithmic=figure.logarithmic,
            from_zero=figure.from_zero,
            spreads=spreads,
            note=f"{options.trials} trials, seed {options.seed}; bars: ± {SPREADS} standard errors",
        )
        path_of(folder, task, figure, options.file).write_text(chart)


def _runs(across: Across, compare: Compare, options: Options) -> dict[float, list[Line]]:
    if across.run is None:
        return {
            float(each): list(compare(dataclasses.replace(options, epsilon=each)))
            for each in EPSILONS
        }
    return {value: list(across.run(options, value)) for value in across.values}


def path_of(folder: Path, task: str, figure: Figure, file: Path | None = None) -> Path:
    """Return the path of a figure in a folder; `file` is the data file that the figure shows."""
    words = [task, figure.error]
    words += [] if figure.across is EPSILON else ["by", figure.across.name]
    words += [] if file is None else [file.stem]
    return folder / (re.sub(r"[ _]", "-", " ".join(words)) + ".svg")
