"""Planar Laplace sampler on the sphere.

What is drawn. Let x be a point of a sphere of radius R. The density of an output z is proportional
to exp(-rate d(x, z)), where d is the great-circle distance. In polar coordinates around x the area
element is R sin(r/R) dr dtheta. So the bearing is uniform, and the distance r has a density
proportional to exp(-rate r) sin(r/R) on [0, pi R]. It is drawn by rejection: the sum of two
exponential variables of scale 1/rate, which is Gamma(2), is accepted with probability
sin(r/R)/(r/R). The point at that bearing and distance is computed by a rotation.

Privacy argument. The normalising constant is the same for every x, since rotations map any point to
any other and preserve areas. So for two points x, x' and any z the densities differ by a factor of
at most exp(rate (d(x', z) - d(x, z))) <= exp(rate d(x, x')) by the triangle inequality. The same
bound holds for the probabilities of any region. The poles and the antimeridian are not special
cases. Positions are snapped to a public grid first. Reports of one privacy unit are perturbed
independently, and their log-ratios add up. Outputs are then snapped and truncated to the study
area, which is a function of the output alone. The privacy cost of finite precision is derived in
`core.noise.PlanarLaplace` and subtracted from the rate beforehand.

Padding. If every privacy unit must have the same number of reports, padding reports are added to
units with fewer: a position is drawn uniformly over public cells and perturbed like any other. Let
K(x) be the output distribution of a report at x, and u the position drawn. Then K(x) <= exp(rate
d(x, u)) K(u) for every u, and conversely. Let D be the largest distance across the cells that
intersect the area; every d(x, u) is at most D. Averaging over u gives the same bounds for the mean
of K(u), with D in place of d(x, u). So whether a report is real or padding changes the odds by at
most exp(rate D), as much as moving a report across the area does. The number of reports of a
privacy unit is therefore hidden at the cost of that distance.

Attributes. The time and the public attributes of a report are copied unchanged and do not affect
the noise: neighbouring datasets agree on them, since they are not secret.

Randomness. An exponential variable is -ln U with U uniform. U is read from as many random bits as
its size needs: leading zero words are followed by more words. So every distance can occur, and the
relative precision of U is 2^-53, however small U is. (With a 53-bit U, -ln U would be at most 36.7,
and the sum of two exponential variables at most 73.5/rate: ten kilometres at level ln 4 within 200
m. An output would then rule out, with certainty, every input further away.) The acceptance test
reads 64 bits. The bits of random words are inverted, so that tests whose words are all 0 leave
positions unchanged.
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
"""Number of points perturbed at a time, so that the arrays stay in the processor's cache."""

PADDING_CELLS = 256
"""Number of cells along each side of the grid over which padding reports are drawn.

These reports give every privacy unit the same number of reports (module docstring).
"""

LONG = np.uint64(1) << np.uint64(53)
"""Smallest random word that gives U (module docstring) a relative precision of 2^-53.

Smaller words are extended by further ones.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Perturbed:
    """Reports with perturbed positions, and the distribution of their noise.

    `longitude` and `latitude` are int32 (n,) in units of 1e-7 degrees. `time`, int64 (n,), is in
    seconds since 1970. `attributes`, int32 (n,), holds indices of combinations of public
    attributes. `time` and `attributes` are None unless they were requested. Rows are sorted by
    longitude, latitude, time and attributes.
    """

    noise: PlanarLaplace
    longitude: NDArray[np.int32]
    latitude: NDArray[np.int32]
    time: NDArray[np.int64] | None
    attributes: NDArray[np.int32] | None = None


ReportArrays = tuple[
    NDArray[np.int32], NDArray[np.int32], NDArray[np.int64] | None, NDArray[np.int32] | None
]
"""Longitudes, latitudes, times and attributes, as in `Perturbed` but in any order."""


def gather(noise: PlanarLaplace, chunks: Iterable[ReportArrays]) -> Perturbed:
    """Concatenate chunks of reports and sort the reports, which hides their input order."""
    arrays = list(chunks)
    longitude = np.concatenate([chunk[0] for chunk in arrays] or [np.empty(0, dtype=np.int32)])
    latitude = np.concatenate([chunk[1] for chunk in arrays] or [np.empty(0, dtype=np.int32)])
    times = [chunk[2] for chunk in arrays if chunk[2] is not None]
    time = np.concatenate(times) if times else None
    numbers = [chunk[3] for chunk in arrays if chunk[3] is not None]
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
    """Draw longitudes and latitudes (size,), uniform over the grid cells that touch the study area.

    The grid is public. Its cells that touch the area together cover a little more than the area.
    """
    grid = Grid.over(area, PADDING_CELLS)
    cells = np.flatnonzero(grid.inside(area))
    drawn = [random.words(size) * 2.0**-64 for _ in range(3)]
    # A word near 2^64 is rounded up to 1 when scaled by 2^-64. Without the minimum, its index
    # would be one too large.
    chosen = cells[np.minimum((drawn[0] * cells.size).astype(np.int64), cells.size - 1)]
    row, column = np.divmod(chosen, grid.columns)
    return to_degrees(
        grid.west + (column + drawn[1]) * grid.cell, grid.north - (row + drawn[2]) * grid.cell
    )


def move(
    longitude: Floats, latitude: Floats, noise: PlanarLaplace, random: RandomWords
) -> tuple[Floats, Floats]:
    """Snap positions (n,) in degrees to a grid, perturb them, and snap the results.

    The resulting longitudes are in [-180, 180].
    """
    moved_longitude, moved_latitude = np.empty_like(longitude), np.empty_like(latitude)
    inputs, outputs = GroundGrid(noise.snapping), GroundGrid(noise.step)
    for start in range(0, len(longitude), CHUNK):
        chunk = slice(start, start + CHUNK)
        east, north = inputs.snap(np.radians(longitude[chunk]), np.radians(latitude[chunk]))
        arc = draw_arcs(noise.rate * EARTH_RADIUS_METRES, len(east), random)
        bearing = np.asarray(random.words(len(east)) * (2 * math.pi / 2**64), dtype=np.float64)
        east, north = outputs.snap(*travel(east, north, arc, bearing))
        moved_longitude[chunk], moved_latitude[chunk] = np.degrees(east), np.degrees(north)
    return moved_longitude, moved_latitude


def draw_arcs(rate: float, size: int, random: RandomWords) -> Floats:
    """Draw arcs (size,) in [0, pi] with density proportional to exp(-rate arc) sin(arc)."""
    arcs = _propose(rate, size, random)
    rejected = np.flatnonzero(~_accept(arcs, random))
    while rejected.size:
        again = _propose(rate, rejected.size, random)
        arcs[rejected] = again
        rejected = rejected[~_accept(again, random)]
    return arcs


def travel(
    longitude: Floats, latitude: Floats, arc: Floats, bearing: Floats
) -> tuple[Floats, Floats]:
    """Return the end points of arcs that start at positions (n,) along bearings, all in radians.

    Bearings are measured clockwise from north.

    The sphere is rotated so that the starting point x has longitude 0. Let t be the unit tangent at
    x in the direction of the bearing. The end is the vector x cos(arc) + t sin(arc), rotated back.
    Unlike formulas with arc sines, this is exact up to rounding everywhere on the sphere.
    """
    sine, cosine = np.sin(latitude), np.cos(latitude)
    radial, tangential = np.cos(arc), np.sin(arc)
    north, east = tangential * np.cos(bearing), tangential * np.sin(bearing)
    ahead = cosine * radial - sine * north
    up = sine * radial + cosine * north
    return longitude + np.arctan2(east, ahead), np.arctan2(up, np.hypot(ahead, east))


def _propose(rate: float, size: int, random: RandomWords) -> Floats:
    """Draw sums (size,) of two exponential variables, as the logarithm of a product of uniforms."""
    words = ~random.words(2 * size)
    # `uniform` is uniform on [0, 1] in steps of 2^-64, which are too coarse for the logarithm of a
    # small value. Such a value is replaced by 1, whose logarithm is 0, and its exponential variable
    # is drawn with more bits and added below.
    uniform = words * 2.0**-64
    short = words < LONG
    uniform[short] = 1.0
    drawn = -np.log(uniform[:size] * uniform[size:])
    if short.any():
        short_places = np.flatnonzero(short)
        np.add.at(drawn, short_places % size, _long_exponentials(words[short_places], random))
    drawn /= rate
    return np.asarray(drawn, dtype=np.float64)


def _long_exponentials(words: NDArray[np.uint64], random: RandomWords) -> Floats:
    """Return -ln U (n,) for uniform U of which `words` (n,) are the first 64 bits.

    These words are below LONG, so U would be too coarse; more random words are read.
    """
    zeros = np.zeros(len(words))
    zero = np.flatnonzero(words == 0)
    words = words.copy()
    while zero.size:
        words[zero] = ~random.words(zero.size)
        zeros[zero] += 1
        zero = zero[words[zero] == 0]
    following = ~random.words(len(words))
    value = words * 2.0**-64 + following * 2.0**-128
    return np.asarray(zeros * (64 * math.log(2)) - np.log(value), dtype=np.float64)


def _accept(arcs: Floats, random: RandomWords) -> NDArray[np.bool_]:
    """Accept each proposed arc with probability sin(arc)/arc; reject arcs beyond pi (radians)."""
    chance = np.where(arcs < math.pi, np.sinc(arcs / math.pi), 0.0)
    return np.asarray(random.words(len(arcs)) * 2.0**-64 < chance)
