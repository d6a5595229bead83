"""Planar Laplace noise on the sphere: positions moved, whole arrays at a time.

What is drawn. Around a point x of the sphere (radius R) the density of an output z is proportional
to exp(-rate d(x, z)), d the great-circle distance. In polar coordinates around x the area element
is R sin(r/R) dr dtheta, so the bearing is uniform and r has the density exp(-rate r) sin(r/R) on
[0, pi R]: a Gamma(2) of scale 1/rate, the sum of two exponentials, accepted with probability
sin(r/R)/(r/R). The point at that bearing and distance is found by a rotation.

Privacy argument. The normalising constant is the same for every x, for rotations take any point
to any other and keep areas. So for two points x, x' and any z the densities differ by at most
exp(rate (d(x', z) - d(x, z))) <= exp(rate d(x, x')) by the triangle inequality, and the
probabilities of any region as much. Poles and antimeridian need no word of their own. Positions are
snapped to a public grid first; reports of one unit are moved independently, and their log-ratios
add up. What is done to outputs afterwards, snapping and bringing them into the study area, looks
at the output alone. What finite precision costs is derived at `core.noise.PlanarLaplace` and
taken off the rate beforehand.

Padding. Where every unit is to have as many reports, those it lacks are made up: a place is drawn
evenly over public cells and moved like any other. With K(x) the law of what comes out of a report
at x and u the place drawn, K(x) <= exp(rate d(x, u)) K(u) for every u, and the other way round; the
same holds for the mean of K(u) over u with the largest of these distances, D across the cells that
touch the area. So whether a report was made or made up changes the odds by at most exp(rate D), as
much as moving it across the area does: how many reports a unit has is hidden in the currency of
distances.

Attributes. What stands beside a point, its time and what is declared public of it, is carried along
as it is and has no part in the noise: neighbours have the same of it, for it is no secret.

Randomness. An exponential is -ln U. U is read from as many random bits as its size needs: leading
words of zeros are followed by more, so that no distance, however far, is out of reach, and its
relative precision is 2^-53 at any size. (A plain 53-bit U ends at 36.7/rate, ten kilometres at
ln 4 within 200 m: beyond, an output would tell for certain where it did not come from.) The test of
acceptance reads 64 bits. Inverted words are used, so that words of zeros, in tests, move nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.noise import PlanarLaplace
from dpgeo.privacy.randomness import RandomWords
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.ground_grid import GroundGrid
from dpgeo.spatial.projection import EARTH_RADIUS_METRES, to_degrees

Floats = NDArray[np.float64]

CHUNK = 1 << 14
"""Points moved at a time, so that every array in hand stays in the cache."""

SCATTERED = 256
"""Cells along each side of the grid over which reports that are made up are scattered."""

LONG = np.uint64(1) << np.uint64(53)
"""Words from here on hold U to a relative 2^-53; smaller ones are followed by another."""


@dataclass(frozen=True, slots=True, eq=False)
class Perturbed:
    """What came out: positions in units of 1e-7 degrees, int32 (n,), and times int64 (n,).

    `time` is None where none was asked for, and so are the numbers of public `attributes`, int32
    (n,). Sorted by longitude, latitude, time and attributes. `noise` is what moved each of them.
    """

    noise: PlanarLaplace
    longitude: NDArray[np.int32]
    latitude: NDArray[np.int32]
    time: NDArray[np.int64] | None
    attributes: NDArray[np.int32] | None = None


Part = tuple[
    NDArray[np.int32], NDArray[np.int32], NDArray[np.int64] | None, NDArray[np.int32] | None
]
"""Longitudes, latitudes, times and attributes as `Perturbed` has them, in any order."""


def gather(noise: PlanarLaplace, parts: Iterable[Part]) -> Perturbed:
    """All parts, in an order that tells nothing of theirs: by what came out alone."""
    listed = list(parts)
    longitude = np.concatenate([part[0] for part in listed] or [np.empty(0, dtype=np.int32)])
    latitude = np.concatenate([part[1] for part in listed] or [np.empty(0, dtype=np.int32)])
    times = [part[2] for part in listed if part[2] is not None]
    time = np.concatenate(times) if times else None
    numbers = [part[3] for part in listed if part[3] is not None]
    attributes = np.concatenate(numbers) if numbers else None
    keys = [each for each in (attributes, time, latitude, longitude) if each is not None]
    order = np.lexsort(keys)
    return Perturbed(
        noise,
        longitude[order],
        latitude[order],
        None if time is None else time[order],
        None if attributes is None else attributes[order],
    )


def scatter(area: StudyArea, size: int, random: RandomWords) -> tuple[Floats, Floats]:
    """Positions (size,) in degrees, evenly over the cells of a public grid that touch an area."""
    grid = Grid.over(area, SCATTERED)
    cells = np.flatnonzero(grid.inside(area))
    drawn = [random.words(size) * 2.0**-64 for _ in range(3)]
    # A share of a word can round up to 1.
    found = cells[np.minimum((drawn[0] * cells.size).astype(np.int64), cells.size - 1)]
    row, column = np.divmod(found, grid.columns)
    return to_degrees(
        grid.west + (column + drawn[1]) * grid.cell, grid.north - (row + drawn[2]) * grid.cell
    )


def move(
    longitude: Floats, latitude: Floats, noise: PlanarLaplace, random: RandomWords
) -> tuple[Floats, Floats]:
    """Positions (n,) in degrees snapped, moved and snapped again; longitudes from -180 to 180."""
    moved_longitude, moved_latitude = np.empty_like(longitude), np.empty_like(latitude)
    grid = GroundGrid(noise.step)
    for start in range(0, len(longitude), CHUNK):
        part = slice(start, start + CHUNK)
        east, north = grid.snap(np.radians(longitude[part]), np.radians(latitude[part]))
        arc = draw_arcs(noise.rate * EARTH_RADIUS_METRES, len(east), random)
        bearing = np.asarray(random.words(len(east)) * (2 * math.pi / 2**64), dtype=np.float64)
        east, north = grid.snap(*travel(east, north, arc, bearing))
        moved_longitude[part], moved_latitude[part] = np.degrees(east), np.degrees(north)
    return moved_longitude, moved_latitude


def draw_arcs(rate: float, size: int, random: RandomWords) -> Floats:
    """Arcs (size,) from 0 to pi with density proportional to exp(-rate arc) sin(arc)."""
    arcs = _propose(rate, size, random)
    waiting = np.flatnonzero(~_accept(arcs, random))
    while waiting.size:
        again = _propose(rate, waiting.size, random)
        arcs[waiting] = again
        waiting = waiting[~_accept(again, random)]
    return arcs


def travel(
    longitude: Floats, latitude: Floats, arc: Floats, bearing: Floats
) -> tuple[Floats, Floats]:
    """Where an arc along a bearing (clockwise from north) leads; all in radians.

    The meridian of departure is turned to 0, the vector x cos(arc) + t sin(arc) is taken, t the
    tangent, and its longitude added. Unlike by arc sines this is exact to rounding everywhere.
    """
    sine, cosine = np.sin(latitude), np.cos(latitude)
    forth, side = np.cos(arc), np.sin(arc)
    north, east = side * np.cos(bearing), side * np.sin(bearing)
    ahead = cosine * forth - sine * north
    up = sine * forth + cosine * north
    return longitude + np.arctan2(east, ahead), np.arctan2(up, np.hypot(ahead, east))


def _propose(rate: float, size: int, random: RandomWords) -> Floats:
    """Sums of two exponentials of a rate, (size,): one logarithm of a product for both."""
    words = ~random.words(2 * size)
    # In units of 2^64; 2^-64 is as good as 0 here, since short words are settled below.
    unit = words * 2.0**-64
    short = words < LONG
    unit[short] = 1.0
    drawn = -np.log(unit[:size] * unit[size:])
    if short.any():
        place = np.flatnonzero(short)
        np.add.at(drawn, place % size, _long_exponentials(words[place], random))
    drawn /= rate
    return np.asarray(drawn, dtype=np.float64)


def _long_exponentials(words: NDArray[np.uint64], random: RandomWords) -> Floats:
    """-ln U for U that begin with these short words, (n,); more bits are read as needed."""
    zeros = np.zeros(len(words))
    waiting = np.flatnonzero(words == 0)
    words = words.copy()
    while waiting.size:
        words[waiting] = ~random.words(waiting.size)
        zeros[waiting] += 1
        waiting = waiting[words[waiting] == 0]
    following = ~random.words(len(words))
    value = words * 2.0**-64 + following * 2.0**-128
    return np.asarray(zeros * (64 * math.log(2)) - np.log(value), dtype=np.float64)


def _accept(arcs: Floats, random: RandomWords) -> NDArray[np.bool_]:
    """Which proposals are kept: with probability sin(arc)/arc, and none beyond pi."""
    chance = np.where(arcs < math.pi, np.sinc(arcs / math.pi), 0.0)
    return np.asarray(random.words(len(arcs)) * 2.0**-64 < chance)
