"""Errors and coverage of means by region: two sums, a sum and a count, or noise on means."""

from __future__ import annotations

import argparse
import dataclasses
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.literature.averages import compose_then_perturb, perturb_then_compose
from benchmarks.report import report
from dpgeo.core.measures import Measure
from dpgeo.mechanisms import averages
from dpgeo.postprocess.fieller import Means, ShareNoise
from dpgeo.privacy.divided_regions import DividedRegions
from dpgeo.privacy.mechanism import run
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.zones import Zones
from tests.randomness import SeededEntropy
from tests.views import ArrayView

Floats = NDArray[np.float64]

SETTINGS = ((5, "0.5"), (5, "1"), (5, "2"), (20, "0.5"), (20, "1"), (20, "2"))
"""Settings that are measured: pairs of a contribution bound and an epsilon."""

LARGE = 100
"""Errors are computed over regions with at least this many records after contribution bounding."""

SMALL = 20
"""Coverage is computed over all regions with at least this many records after contribution
bounding.
"""

SIZES = (1, 2, 4, 8)
"""Limits between classes of regions, as multiples of the number of records from which a mean is
shown.
"""

DAY = Measure("minute", "Minute of the day", "min", 0.0, 1440.0)

FRAME = (-74.05, 40.65, -73.85, 40.85)
"""The study area of a file: west, south, east and north. Rows outside are left out."""


def add_to(subcommands: Any) -> None:
    """Add the subcommand `averages` to the command line."""
    parser = subcommands.add_parser("averages", help=__doc__)
    add_source(parser)
    parser.set_defaults(run=measure)


def add_source(parser: argparse.ArgumentParser) -> None:
    """Add command-line options for the rows, and for how often they are released."""
    parser.add_argument(
        "--data", type=Path, help="Parquet with columns user, lon, lat and minute; else generated"
    )
    parser.add_argument(
        "--level", type=float, default=0.5, help="middle of generated means, 0 to 1"
    )
    parser.add_argument("--answers", action="store_true", help="generated answers of yes or no")
    parser.add_argument("--empty", action="store_true", help="an area without any record")
    parser.add_argument("--cells", type=int, default=12)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--json", action="store_true", help="one JSON object per line")


def view_of(options: argparse.Namespace) -> ArrayView:
    """Return the file that the options name, or generated people, for a mechanism to read."""
    return read(options.data, options.cells) if options.data else generated(options)


def measure(options: argparse.Namespace) -> None:
    """Print a line of errors and coverage for every pair in SETTINGS."""
    view = view_of(options)
    for bound, epsilon in SETTINGS:
        figures: dict[str, list[Any]] = defaultdict(list)
        for number in range(options.trials):
            bounded = dataclasses.replace(view, bound=bound, salt=number + 1)
            trial(bounded, options.cells, epsilon, number, figures)
        line: dict[str, Any] = {"bound": bound, "epsilon": epsilon}
        scale = view.measures[0].high - view.measures[0].low
        for name, values in figures.items():
            joined = np.concatenate(values)
            if not joined.size:
                continue
            if name.startswith("error "):
                line[f"median {name}"] = float(np.median(joined)) * scale
                line[f"rmse {name}"] = float(np.sqrt(np.mean(joined**2))) * scale
            else:
                line[name] = float(np.mean(joined))
                line[f"{name}, regions"] = int(joined.size)
        report(line, options.json)


def trial(
    view: ArrayView, cells: int, epsilon: str, number: int, figures: dict[str, list[Any]]
) -> None:
    """Append the errors of one release of `view`, and its intervals' coverage, to `figures`."""
    (measured,) = view.measures
    params = averages.Params(cells=cells, zones=next(iter(view.declared), ""))
    regions, steps = DividedRegions.of(params, view.domain), measured.steps
    above, below = view.value_shares(regions.valued, measured)._read_by_meter()
    counts, sums = ((above + below) / steps).ravel(), (above / steps).ravel()
    truth = sums / np.maximum(counts, 1)
    drawn = run(averages.MECHANISM, view, params, Fraction(epsilon), SeededEntropy(number), {})
    content: Any = drawn.content
    up, down = content.above.ravel(), content.below.ravel()
    noise = ShareNoise(content.noise, steps)
    means = noise.means(up, down, regions.size)
    large, some = counts >= LARGE, counts >= SMALL
    share = np.where(up + down >= steps, np.clip(up / np.maximum(up + down, 1), 0, 1), 0.5)
    figures["error two sums"].append(np.abs(share - truth)[large])
    others(figures, sums[large], counts[large], float(epsilon) / view.bound, truth[large], number)
    figures["covered, all"].append(covers(noise, up, down, truth)[some])
    figures["told"].append(means.told[some])
    figures["told without a record"].append(means.told[counts == 0])
    by_size(figures, means, counts / noise.least_records(regions.size), truth)


def others(
    figures: dict[str, list[Any]],
    sums: Floats,
    counts: Floats,
    rate: float,
    truth: Floats,
    number: int,
) -> None:
    """Add the baselines' errors to `figures`; their noise protects one record with epsilon `rate`.

    The baselines are: a sum and a count, with half or three quarters of epsilon for the sum; a sum
    of differences from the middle of the range, and a count; and noise on exact means, whose
    sensitivity is valid only if the mean of an empty region is declared to be 0.
    """
    random: Generator = np.random.default_rng(number)
    for share in (0.5, 0.75):
        found = perturb_then_compose(sums, counts, 1.0, rate, random, sum_share=share)
        figures[f"error sum, {share} of epsilon"].append(np.abs(found - truth))
    noisy = sums - counts / 2 + random.laplace(0, 0.5 / (rate / 2), len(sums))
    people = np.maximum(counts + random.laplace(0, 1 / (rate / 2), len(sums)), 1)
    figures["error centred sum"].append(np.abs(np.clip(0.5 + noisy / people, 0, 1) - truth))
    composed = compose_then_perturb(sums, counts, 1.0, rate, random)
    figures["error noise on means"].append(np.abs(composed - truth))


def covers(
    noise: ShareNoise, up: NDArray[np.int64], down: NDArray[np.int64], truth: Floats
) -> NDArray[np.bool_]:
    """Return whether the interval of each region (n,), shown or not, holds the true mean."""
    statistic = np.abs((1 - truth) * up - truth * down)
    return np.asarray(statistic <= noise.limits(truth))


def by_size(figures: dict[str, list[Any]], means: Means, thresholds: Floats, truth: Floats) -> None:
    """Add to `figures` whether published intervals hold the true means, by classes of regions.

    `thresholds` (n,) are the regions' true numbers of records, divided by the number from which a
    mean is shown. SIZES are the limits between the classes.
    """
    held = (means.low <= truth) & (truth <= means.high)
    for low, high in zip((0, *SIZES), (*SIZES, np.inf), strict=True):
        chosen = means.told & (thresholds > low) & (thresholds <= high)
        figures[f"covered, told, {low} to {high} thresholds"].append(held[chosen])


def read(path: Path, cells: int) -> ArrayView:
    """Return a file's rows in FRAME for a mechanism to read, with the minute of the day as value.

    Its zones divide FRAME into `cells` rows and columns of equal degrees.
    """
    import pandas as pd

    frame = pd.read_parquet(path, columns=["user", "lon", "lat", "minute"])
    west, south, east, north = FRAME
    frame = frame[frame.lon.between(west, east) & frame.lat.between(south, north)]
    return ArrayView(
        area=StudyArea.from_bounds(*FRAME),
        declared={"parts": parts(cells)},
        longitude=frame["lon"].to_numpy(),
        latitude=frame["lat"].to_numpy(),
        persons=frame["user"].to_numpy().astype(np.int64),
        # The hours distinguish a person's records at one place, so that sampling treats them as
        # different.
        hours=frame["minute"].to_numpy() // 60 % 168,
        measures=(DAY,),
        values=(frame["minute"].to_numpy() % 1440).astype(np.float64),
    )


def parts(cells: int) -> Zones:
    """Return zones that divide FRAME into `cells` rows and columns."""
    west, south, east, north = FRAME
    column, row = (each.ravel() for each in np.meshgrid(np.arange(cells), np.arange(cells)))
    wide, tall = (east - west) / cells, (north - south) / cells
    left, bottom = west + wide * column, south + tall * row
    names = tuple(f"{r}-{c}" for r, c in zip(row.tolist(), column.tolist(), strict=True))
    return Zones(
        keys=names, names=names, shapes=shapely.box(left, bottom, left + wide, bottom + tall)
    )


def generated(options: argparse.Namespace) -> ArrayView:
    """Return invented people for a mechanism to read; the means of their values depend on place."""
    random = np.random.default_rng(7)
    people = 0 if options.empty else 4000
    persons = np.repeat(np.arange(people), random.geometric(0.05, people))
    home = random.normal(0.5, 0.15, (max(people, 1), 2))
    place = np.clip(home[persons] + random.normal(0, 0.08, (persons.size, 2)), 0.001, 0.999)
    middle = np.clip(options.level + 0.3 * (place[:, 0] - 0.5), 0.005, 0.995)
    shares = random.beta(10 * middle, 10 * (1 - middle))
    steps, values = 1000, 1440 * shares
    if options.answers:
        steps, values = 1, (random.random(persons.size) < middle).astype(np.float64)
    high = 1.0 if options.answers else 1440.0
    return ArrayView(
        area=StudyArea.from_bounds(10, 50, 10.2, 50.13),
        longitude=10 + 0.2 * place[:, 0],
        latitude=50 + 0.13 * place[:, 1],
        persons=persons,
        measures=(Measure("value", "Value", "", 0.0, high, steps),),
        values=values,
    )
