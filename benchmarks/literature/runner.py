"""Published mechanisms compared with dpgeo's own, by task, on common data."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.literature.comparisons.averages import compare as averages
from benchmarks.literature.comparisons.boxes import compare as boxes
from benchmarks.literature.comparisons.classification import compare as classification
from benchmarks.literature.comparisons.correlated import compare as correlated
from benchmarks.literature.comparisons.crowdsourcing import compare as crowdsourcing
from benchmarks.literature.comparisons.edges import compare as edges
from benchmarks.literature.comparisons.extents import compare as extents
from benchmarks.literature.comparisons.inside import compare as inside
from benchmarks.literature.comparisons.linkage import compare as linkage
from benchmarks.literature.comparisons.locations import compare as locations
from benchmarks.literature.comparisons.margins import compare as margins
from benchmarks.literature.comparisons.partitions import compare as partitions
from benchmarks.literature.comparisons.places import compare as places
from benchmarks.literature.comparisons.prilocation import compare as prilocation
from benchmarks.literature.comparisons.profile import compare as profile
from benchmarks.literature.comparisons.ranges import compare as ranges
from benchmarks.literature.comparisons.regression import compare as regression
from benchmarks.literature.comparisons.sizes import compare as sizes
from benchmarks.literature.comparisons.strategies import compare as strategies
from benchmarks.literature.comparisons.streams import compare as streams
from benchmarks.literature.comparisons.thresholds import compare as thresholds
from benchmarks.literature.comparisons.trips import compare as trips
from benchmarks.literature.comparisons.venues import compare as venues
from benchmarks.literature.figures import FIGURES, draw
from benchmarks.literature.trials import Line, Options
from benchmarks.report import report
from dpgeo.core.epsilon import parse_epsilon

TASKS: Mapping[str, Callable[[Options], Iterator[Line]]] = {
    "ranges": ranges,
    "strategies": strategies,
    "sizes": sizes,
    "boxes": boxes,
    "extents": extents,
    "inside": inside,
    "partitions": partitions,
    "classification": classification,
    "linkage": linkage,
    "margins": margins,
    "thresholds": thresholds,
    "streams": streams,
    "places": places,
    "venues": venues,
    "edges": edges,
    "profile": profile,
    "averages": averages,
    "regression": regression,
    "locations": locations,
    "prilocation": prilocation,
    "crowdsourcing": crowdsourcing,
    "correlated": correlated,
    "trips": trips,
}

WITH_FILE = (
    "ranges",
    "sizes",
    "boxes",
    "extents",
    "partitions",
    "linkage",
    "margins",
    "thresholds",
    "places",
    "venues",
    "edges",
    "profile",
    "prilocation",
    "trips",
)

BLOCK = re.compile(r"(<!-- table: ([\w. ]+?) -->\n).*?(<!-- end -->)", re.DOTALL)
"""Matches a table in a documentation page, between two comments; the first has its name.

The name is that of the comparison (--task). If the data come from a file, the names of the file and
of epsilon follow, since a page may have such tables for several files and epsilons.
"""


def add_to(subcommands: Any) -> None:
    """Add the subcommand `literature` to the command line."""
    parser = subcommands.add_parser("literature", help=__doc__)
    parser.add_argument("--task", action="append", choices=TASKS, help="may be repeated")
    parser.add_argument("--epsilon", default="0.5")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0, help="of the noise")
    parser.add_argument("--file", type=Path, help=f"data instead of generated: {WITH_FILE}")
    parser.add_argument("--pages", type=Path, help="write the tables into the pages of this folder")
    parser.add_argument("--figures", type=Path, help="draw the figures into this folder instead")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.set_defaults(run=measure)


def measure(options: argparse.Namespace) -> None:
    """Print a line for every system in every requested comparison."""
    tasks = options.task or list(WITH_FILE if options.file else TASKS)
    if options.file and set(tasks) - set(WITH_FILE):
        raise ValueError(f"--file is for {', '.join(WITH_FILE)}.")
    if options.trials < 1:
        raise ValueError("--trials is a number of runs, at least 1.")
    chosen = Options(
        epsilon=parse_epsilon(options.epsilon),
        trials=options.trials,
        seed=options.seed,
        file=options.file,
    )
    if options.figures:
        for task in options.task or FIGURES:
            if task not in FIGURES:
                raise ValueError(f"Figures are of {', '.join(FIGURES)}.")
            draw(task, TASKS[task], chosen, options.figures)
        return
    tables = {}
    for task in tasks:
        lines = []
        for line in TASKS[task](chosen):
            report({"task": task, "epsilon": options.epsilon, **line}, options.json)
            lines.append(line)
        settings = f"Epsilon {options.epsilon}, {options.trials} trials, seed {options.seed}"
        tables[_name(task, options)] = (
            f"{table(lines)}\n\n{settings}: `{_command(task, options)}`\n"
        )
    if options.pages:
        write(options.pages, tables)


def table(lines: Sequence[Line]) -> str:
    """Return the lines of a comparison as a Markdown table, each error with its standard error."""
    words = ("system", "source", "promise")
    errors = [
        name
        for name in {name: None for line in lines for name in line}
        if name not in words and not name.endswith("_se")
    ]
    head = [*words, *(name.replace("_", " ") for name in errors)]
    rows = [
        [*(str(line[word]) for word in words), *(_cell(line, e) for e in errors)] for line in lines
    ]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])


def _cell(line: Line, error: str) -> str:
    if error not in line:
        return ""
    spread = line.get(f"{error}_se")
    value = f"{line[error]:.3g}"
    return f"{value} ± {spread:.2g}" if spread else value


def _name(task: str, options: argparse.Namespace) -> str:
    return f"{task} {options.file.stem} {options.epsilon}" if options.file else task


def _command(task: str, options: argparse.Namespace) -> str:
    file = f" --file {options.file.name}" if options.file else ""
    return (
        f"python -m benchmarks literature --task {task}{file} --epsilon {options.epsilon} "
        f"--trials {options.trials} --seed {options.seed}"
    )


def write(folder: Path, tables: Mapping[str, str]) -> None:
    """Replace the tables of comparisons, given by name, in the pages of a folder.

    Raises ValueError if no page has the two comments that enclose a table (BLOCK).
    """
    missing = set(tables)
    for page in sorted(folder.glob("*.md")):
        text = page.read_text()
        missing -= {task for _, task, _ in BLOCK.findall(text)}
        page.write_text(BLOCK.sub(lambda block: _filled(block, tables), text))
    if missing:
        raise ValueError(f"No page has a place for the table of {', '.join(sorted(missing))}.")


def _filled(block: re.Match[str], tables: Mapping[str, str]) -> str:
    if block[2] not in tables:
        return block[0]
    return block[1] + tables[block[2]] + block[3]
