"""Errors of counts of people under pure differential privacy and under zCDP, by bound.

Counting, bounding and noise are dpgeo's own: the counts come from `engine.duckdb_view`, Laplace
noise and Gaussian noise from the Meter, whose squared sensitivity the view
computes. Both give the same epsilon, zCDP only at the stated delta. The bounding box of the file's
rows is stretched to a square. If more people are requested than the file has, every person is
counted as several people with the same rows.

Twelve maps are made as well, one of each twelfth of the time. Under pure differential privacy each
map gets a twelfth of epsilon, under zCDP a twelfth of rho.

With `--clusters`, private clusters are compared instead: with a whole epsilon or rho, and with a
twelfth of it, as one of twelve maps would get.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.report import report
from benchmarks.series import AREA
from dpgeo.core.domain import Domain
from dpgeo.core.epsilon import parse_epsilon
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.spend import Spend
from dpgeo.core.zcdp import NANO, nano_rho_for
from dpgeo.engine.duckdb_view import DuckDBView
from dpgeo.mechanisms import auto, private_clusters
from dpgeo.privacy.counts import PrivateCounts
from dpgeo.privacy.law import GAUSSIAN
from dpgeo.privacy.mechanism import run
from dpgeo.privacy.meter import Meter
from dpgeo.spatial.centres import Centres
from dpgeo.spatial.grid import Grid
from tests.randomness import SeededEntropy, ZeroNoise

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BOUNDS = (1, 8, 20, 55, 135)

EVERYTHING = 1_000_000
"""A contribution bound that nobody reaches."""

MONTHS = 12

BOXES = 2000
"""Number of random boxes of cells over which sums are compared."""

LABEL = "cells"

HEADS = {
    "laplace": "Laplace",
    "gaussian": "Gaussian",
    "auto": "*Automatic*, Laplace",
    "auto_gaussian": "*Automatic*, Gaussian",
    "paid": "Laplace, paid in rho",
    "none": "no noise",
}
"""Column heads, by what follows the first underscore in a figure's name: "laplace" in
`rmse_laplace`.
"""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows inside the box: person, position (metres, Web Mercator) and minute, all of shape (n,).

    `minute` is None if the file has no times.
    """

    person: Ints
    x: Floats
    y: Floats
    minute: Ints | None


def add_to(subcommands: Any) -> None:
    """Add the subcommand `zcdp` to the command line."""
    parser = subcommands.add_parser("zcdp", help=__doc__)
    parser.add_argument(
        "--data", type=Path, required=True, help="Parquet with columns user, lat, lon; minute"
    )
    parser.add_argument(
        "--box", nargs=4, type=float, default=(-74.05, 40.60, -73.75, 40.90), metavar="DEGREES"
    )
    parser.add_argument("--cells", type=int, default=64)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--delta", default="1e-9")
    parser.add_argument("--bounds", nargs="+", type=int, default=BOUNDS)
    parser.add_argument("--times", nargs="+", type=int, default=(1, 20), help="copies of a person")
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--clusters", action="store_true", help="compare private clusters")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON object per line")
    form.add_argument("--markdown", action="store_true", help="a table, as in docs/rho.md")
    parser.set_defaults(run=measure)


def measure(options: argparse.Namespace) -> None:
    """Print a line for each number of people, number of maps (one or twelve) and bound."""
    if not options.markdown:
        for line in lines(options):
            report(line, options.json)
        return
    for number, line in enumerate(lines(options)):
        row = cells_of(line)
        if number == 0:
            print("| " + " | ".join(row) + " |")
            print("|---" * len(row) + "|")
        print("| " + " | ".join(row.values()) + " |", flush=True)


def cells_of(line: Mapping[str, Any]) -> dict[str, str]:
    """Return the cells of a table's row, by column head, from a line of figures.

    Two figures of the same map, such as `rmse_laplace` and `boxes_laplace`, are in one cell.
    """
    row: dict[str, str] = {}
    for name, value in line.items():
        head = HEADS.get(name.partition("_")[2], name)
        text = value if isinstance(value, str) else f"{round(value, 2 - exponent(value)):,g}"
        row[head] = f"{row[head]} / {text}" if head in row else text
    return row


def exponent(value: float) -> int:
    """Return the power of ten of a number's first significant digit, by which figures are rounded.

    It is at most 2, and 2 for all integers, so numbers of three or more digits are rounded to
    integers.
    """
    return 2 if isinstance(value, int) or value >= 1000 else math.floor(math.log10(value))


def lines(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the errors of maps under epsilon and under rho, for each number of people, number of
    maps and bound on contributions.
    """
    epsilon, delta = parse_epsilon(options.epsilon), Fraction(options.delta)
    rho = Fraction(nano_rho_for(epsilon, delta), NANO)
    rows = read(options.data, tuple(options.box))
    grid = Grid.over(AREA, options.cells)
    with tempfile.TemporaryDirectory(prefix="dpgeo-benchmark-") as folder:
        for times in options.times:
            path = write(Path(folder) / "rows.parquet", rows, times)
            if options.clusters:
                for maps in (1, MONTHS):
                    each = epsilon / maps, rho / maps
                    for line in clusters(path, grid, *each, delta, options.bounds, options.trials):
                        yield {"people": f"x {times}", "maps": maps, **line}
                continue
            for line in by_bound([path], grid, epsilon, rho, delta, options.bounds, options.trials):
                yield {"people": f"x {times}", "maps": 1, **line}
            if rows.minute is not None:
                paths = list(months(Path(folder), rows, times))
                parts = epsilon / MONTHS, rho / MONTHS
                for line in by_bound(paths, grid, *parts, delta, options.bounds, options.trials):
                    yield {"people": f"x {times}", "maps": MONTHS, **line}


def by_bound(
    paths: Sequence[Path],
    grid: Grid,
    epsilon: Fraction,
    rho: Fraction,
    delta: Fraction,
    bounds: Sequence[int],
    trials: int,
) -> Iterator[dict[str, float]]:
    """Yield the errors of a map for each bound, averaged over the files and trials.

    `rmse` is the root mean square error of a cell, and `boxes` the mean absolute error of sums over
    random boxes. `auto` stands for the mechanism of that name under pure differential privacy, with
    its inference, and `auto_gaussian` for the same under zCDP.
    """
    truths = [exact(view_of(path, EVERYTHING).histogram(grid)) for path in paths]
    for bound in bounds:
        found: dict[str, list[float]] = {}
        for path, truth in zip(paths, truths, strict=True):
            view = view_of(path, bound)
            counts = view.histogram(grid)
            for seed in range(trials):
                drawn = {
                    "laplace": laplace(counts, epsilon, seed),
                    "gaussian": gaussian(counts, rho, seed),
                    "auto": surface(view, grid, epsilon, seed),
                    "auto_gaussian": surface(view, grid, rho, seed, delta),
                }
                for name, noisy in drawn.items():
                    found.setdefault(f"rmse_{name}", []).append(rmse(noisy, truth))
                    found.setdefault(f"boxes_{name}", []).append(boxes_error(noisy, truth))
        figures = {name: float(np.mean(values)) for name, values in found.items()}
        yield {"bound": bound, **figures}


def clusters(
    path: Path,
    grid: Grid,
    epsilon: Fraction,
    rho: Fraction,
    delta: Fraction,
    bounds: Sequence[int],
    trials: int,
) -> Iterator[dict[str, float]]:
    """Yield, at each contribution bound, how far people are from centres, and the margins of the
    clusters' counts.

    `laplace` is the mechanism private clusters for epsilon, `gaussian` the same for rho, and `paid`
    the pure mechanism with the epsilon to which the rho converts. The distance is the mean over
    people, from their cell to the nearest centre, in per cent of the map's side; `none` is the
    distance without noise.
    """
    truth = exact(view_of(path, EVERYTHING).histogram(grid)).ravel()
    params = private_clusters.Params(cells=grid.rows)
    paid = Fraction(math.isqrt(int(2 * rho * NANO * NANO)), NANO)
    amounts = {
        "none": (Fraction(EVERYTHING), None),
        "laplace": (epsilon, None),
        "gaussian": (rho, delta),
        "paid": (paid, None),
    }
    for bound in bounds:
        view = view_of(path, bound)
        found: dict[str, float] = {}
        for name, (amount, at) in amounts.items():
            distances = []
            for seed in range(trials if name != "none" else 1):
                content: Any = run(
                    private_clusters.MECHANISM,
                    view,
                    params,
                    amount,
                    SeededEntropy(seed),
                    {},
                    delta=at,
                ).content
                centres = Centres.from_degrees(content.longitude, content.latitude)
                distances.append(distance(grid, truth, centres))
            found[f"distance_{name}"] = float(np.mean(distances))
            found[f"margin_{name}"] = content.noise.margin()
        yield {"bound": bound, **found}


def distance(grid: Grid, counts: Floats, centres: Centres) -> float:
    """Return the mean distance from people's cells to the nearest centre, in % of the map side."""
    cells = np.flatnonzero(counts)
    row, column = np.divmod(cells, grid.columns)
    x = grid.west + (column + 0.5) * grid.cell
    y = grid.north - (row + 0.5) * grid.cell
    apart = np.hypot(x[:, None] - centres.x, y[:, None] - centres.y).min(axis=1)
    return float(100 * np.average(apart, weights=counts[cells]) / (grid.cell * grid.columns))


def exact(counts: PrivateCounts) -> Floats:
    """Return the counts without noise."""
    meter = Meter([Spend(label=LABEL, epsilon=Fraction(1))], ZeroNoise())
    return meter.measure(LABEL, counts).astype(np.float64)


def laplace(counts: PrivateCounts, epsilon: Fraction, seed: int) -> Floats:
    """Return the counts with discrete Laplace noise."""
    meter = Meter([Spend(label=LABEL, epsilon=epsilon)], SeededEntropy(seed))
    return meter.measure(LABEL, counts).astype(np.float64)


def gaussian(counts: PrivateCounts, rho: Fraction, seed: int) -> Floats:
    """Return the counts with discrete Gaussian noise."""
    meter = Meter([Spend(label=LABEL, epsilon=rho)], SeededEntropy(seed), GAUSSIAN)
    return meter.measure(LABEL, counts).astype(np.float64)


def surface(
    view: DuckDBView, grid: Grid, amount: Fraction, seed: int, delta: Fraction | None = None
) -> Floats:
    """Return the inferred counts of `auto`, under zCDP if a `delta` is given."""
    params, entropy = auto.Params(cells=grid.rows), SeededEntropy(seed)
    content: Any = run(auto.MECHANISM, view, params, amount, entropy, {}, delta=delta).content
    return np.asarray(content.surface, dtype=np.float64)


def rmse(noisy: Floats, truth: Floats) -> float:
    """Return the root mean square error of the counts of cells."""
    return float(np.sqrt(np.mean((noisy - truth) ** 2)))


def boxes_error(noisy: Floats, truth: Floats) -> float:
    """Return the mean absolute error of sums over random boxes, drawn from a fixed seed."""
    rows, columns = truth.shape
    table = np.zeros((rows + 1, columns + 1))
    table[1:, 1:] = (noisy - truth).cumsum(0).cumsum(1)
    random = np.random.default_rng(7)
    top, bottom = np.sort(random.integers(0, rows + 1, (2, BOXES)), axis=0)
    left, right = np.sort(random.integers(0, columns + 1, (2, BOXES)), axis=0)
    sums = table[bottom, right] - table[top, right] - table[bottom, left] + table[top, left]
    return float(np.abs(sums).mean())


def read(path: Path, box: tuple[float, ...]) -> Rows:
    """Read the rows inside the box (west, south, east, north), which is stretched to AREA."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    user, lat, lon = (np.asarray(table[name]) for name in ("user", "lat", "lon"))
    west, south, east, north = box
    inside = (lon > west) & (lon < east) & (lat > south) & (lat < north)
    frame = Grid.over(AREA, 1)
    return Rows(
        user[inside].astype(np.int64),
        frame.west + (lon[inside] - west) / (east - west) * frame.cell,
        frame.north - (north - lat[inside]) / (north - south) * frame.cell,
        np.asarray(table["minute"])[inside] if "minute" in table.column_names else None,
    )


def write(path: Path, rows: Rows, times: int, chosen: NDArray[np.bool_] | None = None) -> Path:
    """Write a canonical file of the chosen rows, each person `times` over."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kept = np.ones(rows.person.size, dtype=np.bool_) if chosen is None else chosen
    person, x, y = (np.tile(each[kept], times) for each in (rows.person, rows.x, rows.y))
    copy = np.repeat(np.arange(times), int(kept.sum()))
    table = pa.table(
        {
            "person_high": pa.array(copy.astype(np.uint64)),
            "person_low": pa.array(person.astype(np.uint64)),
            "x": pa.array(x),
            "y": pa.array(y),
            "time": pa.array([None] * x.size, pa.int64()),
        }
    )
    pq.write_table(table, path)
    return path


def months(folder: Path, rows: Rows, times: int) -> Iterator[Path]:
    """Write a canonical file for each twelfth of the time that the rows cover."""
    assert rows.minute is not None
    ends = np.linspace(rows.minute.min(), rows.minute.max() + 1, MONTHS + 1)
    number = np.searchsorted(ends, rows.minute, side="right") - 1
    for month in range(MONTHS):
        yield write(folder / f"month{month}.parquet", rows, times, number == month)


def view_of(path: Path, bound: int) -> DuckDBView:
    """Return a file for a mechanism to read, with people counted in at most `bound` cells each."""
    return DuckDBView(
        path,
        domain=Domain(AREA),
        unit=Unit.PERSON,
        counting=Counting.PEOPLE,
        bound=bound,
        salt=bytes(16),
    )
