"""Figures of the comparisons: one error of a task's systems, at several epsilons."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from benchmarks.charts import line_chart
from benchmarks.literature.trials import Line, Options

EPSILONS = tuple(Fraction(each) for each in ("0.05", "0.1", "0.2", "0.5", "1"))

SPREADS = 2
"""Number of standard errors that the bars of a figure show above and below a mean."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart of one error; see `line_chart` for what its axis shows."""

    error: str
    title: str
    logarithmic: bool = False
    level: float | None = None
    from_zero: bool = True


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
    "crowdsourcing": (Figure("success", "Share of tasks that somebody accepts", level=0.9),),
}
"""The figures of each task that has any."""


def draw(
    task: str, compare: Callable[[Options], Iterator[Line]], options: Options, folder: Path
) -> None:
    """Write the figures of a task into a folder, which is made if it is not there."""
    folder.mkdir(exist_ok=True)
    lines = {
        epsilon: list(compare(dataclasses.replace(options, epsilon=epsilon)))
        for epsilon in EPSILONS
    }
    for figure in FIGURES[task]:
        curves: dict[str, list[tuple[float, float]]] = {}
        spreads: dict[str, list[float]] = {}
        for epsilon, systems in lines.items():
            for system in systems:
                if figure.error in system:
                    point = (float(epsilon), float(system[figure.error]))
                    name = str(system["system"])
                    curves.setdefault(name, []).append(point)
                    spread = float(system.get(f"{figure.error}_se", 0.0))
                    spreads.setdefault(name, []).append(SPREADS * spread)
        chart = line_chart(
            figure.title,
            "epsilon",
            curves,
            level=figure.level,
            logarithmic=figure.logarithmic,
            from_zero=figure.from_zero,
            spreads=spreads,
            note=f"{options.trials} trials, seed {options.seed}; bars: ± {SPREADS} standard errors",
        )
        path_of(folder, task, figure).write_text(chart)


def path_of(folder: Path, task: str, figure: Figure) -> Path:
    """Return the file of a figure in a folder."""
    return folder / f"{task}-{figure.error.replace('_', '-')}.svg"
