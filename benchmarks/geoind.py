"""Checks of perturbed points: noise against theory, guarantee, recovered density and speed."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.generated import KINDS, generated
from benchmarks.promise import Draw, tell_apart
from benchmarks.report import report
from benchmarks.transport import earth_movers_distance
from dpgeo.core.epsilon import parse_epsilon
from dpgeo.core.guarantees import Unit
from dpgeo.core.levels import make_level
from dpgeo.core.noise import PlanarLaplace
from dpgeo.core.released import PhasedRelease
from dpgeo.mechanisms.registry import find_mechanism
from dpgeo.postprocess.deconvolution import Channel, recover, update
from dpgeo.privacy.mechanism import run
from dpgeo.privacy.planar_laplace_sampler import draw_arcs, move
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.ground_grid import GroundGrid, grid_step, input_step
from dpgeo.spatial.projection import EARTH_RADIUS_METRES, to_degrees, to_mercator
from dpgeo.spatial.truncation import UNITS, Truncation
from tests.randomness import SeededEntropy, SeededWords
from tests.views import ArrayView

Floats = NDArray[np.float64]

PLACES = {
    "equator": (10.0, 0.0),
    "40 north": (-74.0, 40.0),
    "60 north": (20.0, 60.0),
    "78 north": (15.0, 78.0),
    "33 south": (151.0, -33.0),
    "antimeridian": (179.9999, 10.0),
}

DISTANCES = (50, 100, 200, 400)
"""Distances in metres between the two places whose outcomes are compared."""

PROMISED = 4
"""Number of points drawn for each distance in the check of the guarantee.

It is a multiple of the number of points for all other measurements.
"""

MAX_CHANCE = 1e-6
"""Greatest permitted probability that any of the bounds on log-ratios exceeds the true value."""

Sampler = Callable[[Floats, Floats, SeededWords], tuple[Floats, Floats]]
"""Type of a function that perturbs positions (n,) in degrees."""

Places: TypeAlias = tuple[Floats, Floats, StudyArea]
"""Longitudes and latitudes of points, and the study area around them."""

MAP_CELLS = 256
"""Number of cells along each side of a generated map that points are drawn from."""

MAX_UPDATES = 300
"""Number of updates of a density; the error is computed after each, to find the smallest error."""

SIDE_METRES = 40_000
"""Side in metres of the square, around the points' median, in which densities are recovered."""


def add_to(subcommands: Any) -> None:
    """Add the subcommand `geoind` to the command line."""
    parser = subcommands.add_parser("geoind", help=__doc__)
    parser.add_argument("--level", default="ln 4")
    parser.add_argument("--radius", type=int, default=200)
    parser.add_argument("--draws", type=int, default=1_000_000, help="points moved per figure")
    parser.add_argument(
        "--points", type=Path, action="append", default=[], help="Parquet with columns lat and lon"
    )
    parser.add_argument("--generated", action="append", default=[], choices=KINDS, metavar="KIND",
                        help="recover the density of a generated map as well")  # fmt: skip
    parser.add_argument("--map-seed", type=int, default=0, help="of generated maps")
    parser.add_argument("--reports", type=int, default=100_000, help="drawn from generated maps")
    parser.add_argument("--cells", type=int, default=128)
    parser.add_argument("--array", type=Path, action="append", default=[],
                        help=".npy; recover the density of positions drawn from it")  # fmt: skip
    parser.add_argument("--map-epsilon", help="use a map of the same reports as the prior as well")
    parser.add_argument("--seed", type=int, default=1, help="of the noise")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.set_defaults(run=measure)


def measure(options: argparse.Namespace) -> None:
    """Print a line for each figure that the options ask for."""
    level = make_level(options.level, options.radius)
    noise = PlanarLaplace(level.epsilon, 1, grid_step(level.radius), input_step(level.radius))
    lines = (
        *_spread(noise, options.draws, options.seed),
        *_promise(noise, options.draws, options.seed),
        _speed(noise, options.draws, options.seed),
    )
    for line in lines:
        report(line, options.json)
    for path in options.points:
        places = _points(path)
        report(_density(noise, path.stem, places, options), options.json)
    for path in options.array:
        shares = np.load(path).astype(np.float64)
        places = _drawn_points(shares / shares.sum(), options.reports, options.cells, 0)
        report(_density(noise, path.stem, places, options), options.json)
    for kind in options.generated:
        places = _generated_points(kind, options.map_seed, options.reports, options.cells)
        line = _density(noise, kind, places, options)
        limits = _limits(noise, kind, places, options)
        report({**line, **limits}, options.json)


def _spread(noise: PlanarLaplace, draws: int, seed: int) -> Iterator[dict[str, str | float]]:
    """Yield the noise's standard deviation along both axes, and the share of points beyond r95.

    The deviations are divided by their theoretical value, sqrt(3)/rate. r95 is the radius that 5 %
    of the points should exceed.
    """
    for name, (lon, lat) in PLACES.items():
        east, north = move(np.full(draws, lon), np.full(draws, lat), noise, SeededWords(seed))
        across, along = _metres(east, north, lon, lat)
        beyond = np.hypot(across, along) > noise.radius(0.95)
        yield {
            "figure": "spread",
            "place": name,
            "east_ratio": float(across.std() / noise.axis_deviation),
            "north_ratio": float(along.std() / noise.axis_deviation),
            "beyond_r95_percent": float(100 * beyond.mean()),
        }


def _promise(noise: PlanarLaplace, draws: int, seed: int) -> Iterator[dict[str, str | float]]:
    """Yield lower bounds on the log-ratio of outcomes from two places in Berlin, and the guarantee.

    The probability that any `lower` exceeds the true value is at most one in a million. Two
    samplers with deliberate faults are measured as well; each must exceed the guarantee at some
    distance.
    """
    samplers: dict[str, Sampler] = {
        "dpgeo": lambda lon, lat, words: move(lon, lat, noise, words),
        "fault: half the noise": lambda lon, lat, words: move(
            lon, lat, PlanarLaplace(2 * noise.declared, 1, noise.step, noise.input_step), words
        ),
        "fault: metres of Web Mercator": lambda lon, lat, words: _move_on_mercator(
            lon, lat, float(noise.declared), words
        ),
    }
    chance = MAX_CHANCE / (len(samplers) * len(DISTANCES))
    for name, sampler in samplers.items():
        for metres in DISTANCES:
            evidence = tell_apart(_draw_in_berlin(sampler, seed), metres, PROMISED * draws,
                               2 / float(noise.declared), chance)  # fmt: skip
            claim = float(noise.declared) * metres
            yield {
                "figure": "promise",
                "sampler": name,
                "metres": metres,
                "claim": claim,
                "estimate": evidence.estimate,
                "lower": evidence.lower,
                "confidence": 1 - MAX_CHANCE,
                "kept": str(evidence.lower <= claim),
            }


def _draw_in_berlin(sampler: Sampler, seed: int) -> Draw:
    lon, lat = 13.4, 52.5

    def draw(metres: float, size: int, number: int) -> tuple[Floats, Floats]:
        place = lon + math.degrees(metres / EARTH_RADIUS_METRES / math.cos(math.radians(lat)))
        words = SeededWords(1_000_000 * seed + number)
        moved = sampler(np.full(size, place), np.full(size, lat), words)
        return _metres(*moved, lon, lat)

    return draw


def _move_on_mercator(
    lon: Floats, lat: Floats, rate: float, words: SeededWords
) -> tuple[Floats, Floats]:
    """Perturb positions with noise in Web Mercator metres instead of ground metres.

    Some other software does this.
    """
    arcs = draw_arcs(rate * EARTH_RADIUS_METRES, len(lon), words) * EARTH_RADIUS_METRES
    bearing = words.words(len(lon)) * (2 * math.pi / 2**64)
    x, y = to_mercator(lon, lat)
    return to_degrees(x + arcs * np.sin(bearing), y + arcs * np.cos(bearing))


def _speed(noise: PlanarLaplace, draws: int, seed: int) -> dict[str, str | float]:
    """Return the speed in millions of points per second, and the speed of the usual method.

    The usual method, written with NumPy, draws the radius with Lambert's W (Andres et al. 2013),
    uses the direct formula with arc sines, and does not snap points to a grid.
    """
    lon, lat = np.full(draws, 13.4), np.full(draws, 52.5)
    ours = min(_seconds(lambda: move(lon, lat, noise, SeededWords(seed))) for _ in range(3))
    plain = min(_seconds(lambda: _plain(lon, lat, noise, seed)) for _ in range(3))
    return {
        "figure": "speed",
        "million_points_a_second": draws / ours / 1e6,
        "plain_million_points_a_second": draws / plain / 1e6,
        "ratio": ours / plain,
    }


def _plain(lon: Floats, lat: Floats, noise: PlanarLaplace, seed: int) -> tuple[Floats, Floats]:
    from scipy.special import lambertw

    generator = np.random.default_rng(seed)
    theta = generator.random(lon.size) * 2 * np.pi
    share = generator.random(lon.size)
    metres = -(lambertw((share - 1) / np.e, -1).real + 1) / noise.rate
    arc, start = metres / EARTH_RADIUS_METRES, np.radians(lat)
    north = np.arcsin(np.sin(start) * np.cos(arc) + np.cos(start) * np.sin(arc) * np.cos(theta))
    east = np.radians(lon) + np.arctan2(
        np.sin(theta) * np.sin(arc) * np.cos(start), np.cos(arc) - np.sin(start) * np.sin(north)
    )
    return np.degrees(east), np.degrees(north)


def _density(
    noise: PlanarLaplace, name: str, places: Places, options: argparse.Namespace
) -> dict[str, str | float]:
    """Return the errors of the recovered density and of the perturbed points' histogram.

    With `options.map_epsilon`, an `auto` map of this epsilon is made, and two more errors are
    returned: of the density recovered with this map as the prior, and of the map itself, with
    counts as shares of their sum.
    """
    lon, lat, area = places
    grid = Grid.over(area, options.cells)
    east, north = _published(noise, places, options.seed)
    truth, raw = _counts(grid, lon, lat), _counts(grid, east, north)
    started = time.perf_counter()
    recovered = recover(east, north, noise, grid, area)
    seconds = time.perf_counter() - started
    with_prior = {}
    if options.map_epsilon:
        prior = _map_of(places, grid, parse_epsilon(options.map_epsilon), options.seed)
        helped = recover(east, north, noise, grid, area, prior=prior)
        of_raw = np.abs(raw - truth).sum()
        with_prior = {
            "map_l1_ratio": float(np.abs(len(lon) * prior - truth).sum() / of_raw),
            "with_map_l1_ratio": float(np.abs(helped.density - truth).sum() / of_raw),
        }
    l1 = [float(np.abs(each - truth).sum() / truth.sum()) for each in (raw, recovered.density)]
    distance = [
        earth_movers_distance(each, truth, grid.ground_cell_metres)
        for each in (raw, recovered.density)
    ]
    return {
        "figure": "density",
        "points": name,
        "reports": len(lon),
        "raw_l1": l1[0],
        "l1": l1[1],
        "l1_ratio": l1[1] / l1[0],
        "raw_emd_metres": distance[0],
        "emd_metres": distance[1],
        "emd_ratio": distance[1] / distance[0],
        "updates": recovered.updates,
        "seconds": seconds,
        **with_prior,
    }


def _map_of(places: Places, grid: Grid, epsilon: Fraction, seed: int) -> Floats:
    """Return the estimated shares of the cells from an `auto` map that protects single reports."""
    lon, lat, area = places
    view = ArrayView(area=area, longitude=lon, latitude=lat, unit=Unit.RECORD)
    auto = find_mechanism("auto")
    released = run(auto, view, auto.params(cells=grid.rows), epsilon, SeededEntropy(seed), {})
    assert isinstance(released.content, PhasedRelease)
    surface = np.maximum(released.content.surface, 0)
    return np.asarray(surface / surface.sum())


def _published(noise: PlanarLaplace, places: Places, seed: int) -> tuple[Floats, Floats]:
    """Return the perturbed positions in degrees."""
    lon, lat, area = places
    moved = move(lon, lat, noise, SeededWords(seed))
    east, north = (each / UNITS for each in Truncation(area, GroundGrid(noise.step)).apply(*moved))
    return east, north


def _limits(
    noise: PlanarLaplace, kind: str, places: Places, options: argparse.Namespace
) -> dict[str, float]:
    """Return the lowest errors with which a generated map could be recovered.

    A ratio is a density's L1 error, divided by that of the perturbed positions' histogram.
    "best_l1_ratio" is for the number of updates with the lowest error, "best_updates", which can
    only be chosen if the truth is known. "density_l1_ratio" is for the density from which the true
    positions were drawn.
    """
    lon, lat, area = places
    grid = Grid.over(area, options.cells)
    east, north = _published(noise, places, options.seed)
    channel = Channel(grid, area, noise)
    truth = _counts(grid, lon, lat) / len(lon)
    raw = float(np.abs(_counts(grid, east, north) / len(lon) - truth).sum())
    observed = _counts(channel.fine, east, north)
    density = channel.inside / np.count_nonzero(channel.inside)
    errors = []
    for _ in range(MAX_UPDATES):
        density = update(channel, density, observed)
        side = channel.factor
        coarse = density.reshape(grid.rows, side, grid.columns, side).sum(axis=(1, 3))
        errors.append(float(np.abs(coarse - truth).sum()) / raw)
    west, south, east_edge, north_edge = area.bounds
    middle = (np.arange(MAP_CELLS) + 0.5) / MAP_CELLS
    x, y = np.meshgrid(
        west + (east_edge - west) * middle, north_edge - (north_edge - south) * middle
    )
    cells = grid.locate(*to_mercator(x.ravel(), y.ravel()))
    shares = generated(kind, MAP_CELLS, options.map_seed).ravel()
    drawn_from = np.bincount(cells, shares, minlength=grid.size).reshape(grid.shape)
    return {
        "best_updates": float(np.argmin(errors) + 1),
        "best_l1_ratio": min(errors),
        "density_l1_ratio": float(np.abs(drawn_from - truth).sum()) / raw,
    }


def _generated_points(kind: str, map_seed: int, reports: int, cells: int) -> Places:
    """Return positions drawn from a generated map; cells are SIDE_METRES/128 wide, as for files."""
    return _drawn_points(generated(kind, MAP_CELLS, map_seed), reports, cells, map_seed)


def _drawn_points(shares: Floats, reports: int, cells: int, seed: int) -> Places:
    """Return random positions in a square of cells, and the square as a study area.

    `shares` are the cells' probabilities; within a cell, positions are uniform.
    """
    side = math.degrees(SIDE_METRES * cells / 128 / EARTH_RADIUS_METRES)
    area = StudyArea.from_bounds(10.0, -side / 2, 10.0 + side, side / 2)
    random = np.random.default_rng([seed, reports])
    row, column = np.divmod(random.choice(shares.size, reports, p=shares.ravel()), len(shares))
    lon = 10.0 + side * (column + random.random(reports)) / len(shares)
    lat = side / 2 - side * (row + random.random(reports)) / len(shares)
    return lon, lat, area


def _points(path: Path) -> Places:
    """Return the positions in a square of SIDE_METRES around their median, and that square.

    The square is returned as a study area.
    """
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=["lat", "lon"])
    lon, lat = (table[name].to_numpy().astype(np.float64) for name in ("lon", "lat"))
    middle = float(np.median(lon)), float(np.median(lat))
    high = math.degrees(SIDE_METRES / 2 / EARTH_RADIUS_METRES)
    wide = high / math.cos(math.radians(middle[1]))
    area = StudyArea.from_bounds(
        middle[0] - wide, middle[1] - high, middle[0] + wide, middle[1] + high
    )
    inside = area.covers(lon, lat)
    return lon[inside], lat[inside], area


def _counts(grid: Grid, lon: Floats, lat: Floats) -> Floats:
    cells = grid.locate(*to_mercator(lon, lat))
    counted = np.bincount(cells[cells >= 0], minlength=grid.size).reshape(grid.shape)
    return counted.astype(np.float64)


def _metres(east: Floats, north: Floats, lon: float, lat: float) -> tuple[Floats, Floats]:
    """Return positions in degrees as metres east and north of a position, as on a flat earth."""
    turned = (east - lon + 180) % 360 - 180
    across = np.radians(turned) * math.cos(math.radians(lat)) * EARTH_RADIUS_METRES
    return across, np.radians(north - lat) * EARTH_RADIUS_METRES


def _seconds(work: Any) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
