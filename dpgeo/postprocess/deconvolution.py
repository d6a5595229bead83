"""Deconvolution of perturbed points by iterative Bayesian update.

Idea. A report from fine cell j is published in fine cell i with a known probability A[i, j]: planar
Laplace noise is added, then the point is truncated to the study area. Let p_j be the share of
reports in fine cell j, and y the observed counts of published points. Expectation maximisation
repeatedly multiplies p by A'(y / (A p)), where A' is the transpose of A and the division is
elementwise (Agrawal and Aggarwal 2001; Richardson 1972 and Lucy 1974 in optics). Fine cells
subdivide the cells of the result, and the estimate is summed over them at the end.

Kernel. Adding noise is a convolution, computed by FFT on a frame wide enough to avoid wrap-around.
Truncation is then applied to each fine cell, so that edges and holes of the study area are accurate
to one fine cell. In Web Mercator the ground size of a cell depends on latitude. Rows are therefore
divided into bands within which this size differs by less than BAND, and each band has its own
kernel. Snapping points to a grid of a hundredth of the radius increases the noise variance by a
factor of 1.0001 and is neglected.

Smoothing. Where points are few, updates pile them up in single fine cells. Each update is therefore
followed by a step towards a base density (uniform, or a public prior). A square frame is divided
into four squares again and again, down to fine cells. Of a square's x points, a quarter with x'
points and the share b of the square's base density gets the share (x' + s b)/(x + s), where s is
the strength: this is the posterior mean under a Dirichlet prior worth s points (a Polya tree).
Large squares keep the distribution of the points, small ones with few points are drawn to the base.
To avoid visible edges of squares, each update takes the mean over two positions of the frame, which
differ from update to update.

Stopping. Too many updates fit the noise. The published points are therefore split into two halves
by their index alone. Updates are made with one half until the likelihood of the other half stops
rising. This is done for several strengths, and for both base densities if there is a public prior;
the strength and the base with the highest likelihood are taken. All points are then fitted with
twice the best number of updates, since twice as many points support more detail. The rule is fixed
and uses only published points and the public prior, so it costs no privacy.

References. Agrawal and Aggarwal, PODS 2001; ElSalamouny and Palamidessi, EuroS&P 2020; Lavine,
Annals of Statistics 1992 (Polya trees).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.noise import PlanarLaplace
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.ground_grid import GroundGrid
from dpgeo.spatial.projection import ground_scale, to_degrees, to_mercator
from dpgeo.spatial.truncation import UNITS, Truncation

Floats = NDArray[np.float64]

MAX_SIDE = 768
"""Largest number of fine cells per row or column; updates then take a fraction of a second."""

FINE_SCALE = 1.0
"""Largest width of a fine cell, as a multiple of the noise scale.

MAX_SIDE and MAX_FINE_CELLS take precedence and may make fine cells wider.
"""

MAX_FINE_CELLS = 4
"""Largest number of fine cells along the side of a cell of the result.

If cells are much wider than the noise scale, more fine cells would not improve the estimate.
"""

TAIL = 1e-3
"""Share of reports that noise moves further than the kernel reaches, which is the width of the
margin around the fine cells.
"""

BAND = 0.01
"""Largest relative difference between the ground sizes of cells in one band of rows."""

MAX_UPDATES = 150

MORE = 2
"""Number of updates made with all points, as a multiple of the best number for half of the points.
"""

STRENGTHS = tuple(4.0**power for power in range(-4, 6))
"""Strengths of the smoothing that are tried, ascending; with strength s, the density towards which
each square is smoothed weighs as much as s points in the square.
"""

FIRST_STRENGTH = 3
"""Index of the strength that is tried first; its neighbours are tried as long as they are
better.
"""

TURNS = 2
"""Number of positions of the frame of squares in each update, over which smoothing is averaged."""

MIN_LEVEL_CELLS = 4
"""Number of the largest squares along each side of the frame; how the points are divided among
these squares is not smoothed.
"""

MIN_SHARE = 1e-9
"""Smallest share of all points in a cell of the result.

EM never makes a cell empty; it only divides its share again and again. Smaller shares become 0,
because a legend cannot state them, and computing a legend from the smallest would overflow.
"""

PATIENCE = 6
"""Fitting to one half of the points stops after this many updates in a row that do not raise the
likelihood of the other half.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Recovered:
    """Expected number of reports in each cell (rows, columns), and the number of updates made."""

    density: Floats
    updates: int


class Channel:
    """Linear map A of distributions over fine cells: planar Laplace noise, then truncation.

    `fine` is a grid of fine cells over the same frame as `grid`, with `factor` fine cells along the
    side of each cell. `margin` is the width, in fine cells, of the border around `fine` that noise
    can reach before truncation. `staying` (rows, 1) is the probability that a report far from the
    study area's edges is published in its own fine cell.
    """

    def __init__(
        self, grid: Grid, area: StudyArea, noise: PlanarLaplace, factor: int | None = None
    ) -> None:
        self.factor = factor or _factor(grid, noise)
        self.fine = Grid(
            grid.west, grid.north, grid.cell / self.factor,
            grid.columns * self.factor, grid.rows * self.factor,
        )  # fmt: skip
        self.inside = self.fine.inside(area)
        reach = noise.radius(1 - TAIL) / _least_metres(self.fine)
        self.margin = min(math.ceil(reach), self.fine.rows)
        side = self.fine.rows + 2 * self.margin
        self._shape = (_smooth(side + self.margin), _smooth(side + self.margin))
        self._bands = _bands(self.fine)
        self.staying = np.zeros((self.fine.rows, 1))
        self._kernels = [self._kernel(rows, noise) for rows in self._bands]
        self._target = self._published_cells(area, noise, side)

    def forward(self, density: Floats) -> Floats:
        """Return the expected distribution of published points over the fine cells.

        `density` is that of the reports, p in the module docstring, and the result is A p; both
        have the shape of the fine grid.
        """
        spread = np.zeros(self._shape)
        for rows, kernel in zip(self._bands, self._kernels, strict=True):
            band = np.zeros(self._shape)
            start = self.margin + rows.start
            band[start : start + rows.stop - rows.start, self._columns] = density[rows]
            spread += np.fft.irfft2(np.fft.rfft2(band) * kernel, s=self._shape)
        side = self.fine.rows + 2 * self.margin
        framed = np.maximum(spread[:side, :side], 0)
        counted = np.bincount(self._target, weights=framed.ravel(), minlength=self.fine.size)
        return np.asarray(counted, dtype=np.float64).reshape(self.fine.shape)

    def backward(self, ratio: Floats) -> Floats:
        """Return, for reports of each fine cell, the mean of `ratio` over the cells they move to.

        This is A' r, where A is the matrix of the probabilities of moving and r is `ratio`.
        """
        side = self.fine.rows + 2 * self.margin
        framed = np.zeros(self._shape)
        framed[:side, :side] = ratio.ravel()[self._target].reshape(side, side)
        transform = np.fft.rfft2(framed)
        result = np.zeros(self.fine.shape)
        for rows, kernel in zip(self._bands, self._kernels, strict=True):
            # Kernels are even functions, so their Fourier transforms are real.
            back = np.fft.irfft2(transform * kernel, s=self._shape)
            start = self.margin + rows.start
            result[rows] = back[start : start + rows.stop - rows.start, self._columns]
        return np.asarray(np.maximum(result, 0), dtype=np.float64)

    @property
    def _columns(self) -> slice:
        return slice(self.margin, self.margin + self.fine.columns)

    def _kernel(self, rows: slice, noise: PlanarLaplace) -> Floats:
        """Return the Fourier transform of the displacement probabilities for a band of rows."""
        metres = _metres(self.fine, (rows.start + rows.stop) / 2)
        offsets = _offsets(noise, metres, self.margin)
        self.staying[rows] = offsets[self.margin, self.margin]
        kernel = np.zeros(self._shape)
        offset = np.arange(-self.margin, self.margin + 1)
        kernel[np.ix_(offset % self._shape[0], offset % self._shape[1])] = offsets
        return np.asarray(np.fft.rfft2(kernel).real, dtype=np.float64)

    def _published_cells(
        self, area: StudyArea, noise: PlanarLaplace, side: int
    ) -> NDArray[np.int64]:
        """Return the fine cell to which truncation moves points in each cell of a larger grid.

        The larger grid has `side` rows and columns: the fine cells and the margin around them.
        """
        centre = np.arange(side) - self.margin + 0.5
        x = self.fine.west + centre * self.fine.cell
        y = self.fine.north - centre * self.fine.cell
        longitude, latitude = (
            each.ravel() for each in np.broadcast_arrays(*to_degrees(x[None, :], y[:, None]))
        )
        east, north = Truncation(area, GroundGrid(noise.step)).apply(longitude, latitude)
        mapped = self.fine.locate(*to_mercator(east / UNITS, north / UNITS))
        row, column = np.divmod(np.arange(side * side), side)
        row, column = row - self.margin, column - self.margin
        within = (row >= 0) & (row < self.fine.rows) & (column >= 0) & (column < self.fine.columns)
        own = np.clip(row, 0, self.fine.rows - 1) * self.fine.columns + np.clip(
            column, 0, self.fine.columns - 1
        )
        stays = within & self.inside.ravel()[own]
        return np.where(stays, own, mapped)


def recover(
    longitude: Floats,
    latitude: Floats,
    noise: PlanarLaplace,
    grid: Grid,
    area: StudyArea,
    prior: Floats | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Recovered:
    """Estimate the density of the unperturbed reports from published points (n,) in degrees.

    The estimate sums to the number of points. If `prior`, a public density of the grid's shape, is
    not None, the iteration starts from it or from a uniform density, whichever the points support.
    `progress(done, most)` is called after each update, while the best number of updates is sought.
    """
    if not len(longitude):
        return Recovered(np.zeros(grid.shape), 0)
    channel = Channel(grid, area, noise)
    fine = channel.fine.locate(*to_mercator(longitude, latitude))
    size = channel.fine.size
    bases = [_start(channel, None), *([] if prior is None else [_start(channel, prior)])]
    first_half = _split_in_halves(fine)
    halves = [_histogram(fine[half], size, channel) for half in (first_half, ~first_half)]
    fits = [_best_strength(channel, base, halves[0], halves[1], progress) for base in bases]
    fit = max(fits, key=lambda each: each.likelihood)
    updates, density = MORE * fit.updates, fit.smoothing.base
    observed = halves[0] + halves[1]
    for number in range(updates):
        density = fit.smoothing.apply(update(channel, density, observed), observed.sum(), number)
    fine_cells = density.reshape(grid.rows, channel.factor, grid.columns, channel.factor)
    shares = fine_cells.sum(axis=(1, 3)) / density.sum()
    shares[shares < MIN_SHARE] = 0
    return Recovered(shares * (len(longitude) / shares.sum()), updates)


def update(channel: Channel, density: Floats, observed: Floats) -> Floats:
    """Return a fine-grid density, which sums to 1, after one EM update from the observed counts."""
    expected = channel.forward(density)
    ratio = np.divide(observed, expected, out=np.zeros_like(expected), where=expected > 1e-300)
    updated = density * channel.backward(ratio)
    return np.asarray(updated / updated.sum(), dtype=np.float64)


class Smoothing:
    """Smoothing of the module docstring: moves a density towards the density `base`.

    Both densities have the shape of a square grid. Cells in which `base` is 0 must have no points.
    """

    def __init__(self, base: Floats, strength: float) -> None:
        self.base, self.strength = base, strength
        self._side = len(base)
        self._frame = 1 << (self._side - 1).bit_length()

    def apply(self, density: Floats, points: float, number: int) -> Floats:
        """Return the density after one smoothing; it sums to 1.

        `density` sums to 1 and was estimated from `points` points in the EM update `number`. That
        number decides how the square frame of the module docstring is shifted.
        """
        turns = range(TURNS * number, TURNS * number + TURNS)
        smoothed = sum(self._step(points * density, _turn(each, self._frame)) for each in turns)
        return np.asarray(smoothed / np.sum(smoothed), dtype=np.float64)

    def _step(self, points: Floats, turn: tuple[int, int]) -> Floats:
        levels = [(self._turned(points, turn), self._turned(self.base, turn))]
        while len(levels[-1][0]) > MIN_LEVEL_CELLS:
            levels.append((_joined(levels[-1][0]), _joined(levels[-1][1])))
        mass = levels[-1][0]
        for (above, base_above), (below, base) in itertools.pairwise(reversed(levels)):
            share = np.divide(base, _split(base_above), out=np.zeros_like(base), where=base > 0)
            part = (below + self.strength * share) / (_split(above) + self.strength)
            mass = _split(mass) * part
        back = np.roll(mass, (-turn[0], -turn[1]), axis=(0, 1))
        return back[: self._side, : self._side]

    def _turned(self, values: Floats, turn: tuple[int, int]) -> Floats:
        """Return cells' values in a square frame, padded with zeros and then shifted cyclically.

        The side of the frame is a power of 2. `turn` is the shift in rows and in columns.
        """
        framed = np.zeros((self._frame, self._frame))
        framed[: self._side, : self._side] = values
        return np.roll(framed, turn, axis=(0, 1))


def _turn(number: int, frame: int) -> tuple[int, int]:
    """Return shift `number` of the smoothing's frame of squares, in rows and in columns.

    `frame` is the frame's side. Shifts are an evenly spread sequence (Roberts 2018), of which each
    update takes the next TURNS.
    """
    across, along = number * 0.7548776662466927 % 1, number * 0.5698402909980532 % 1
    return int(frame * across), int(frame * along)


def _joined(values: Floats) -> Floats:
    """Return the sum of each square of 2 x 2 values."""
    half = len(values) // 2
    return np.asarray(values.reshape(half, 2, half, 2).sum(axis=(1, 3)))


def _split(values: Floats) -> Floats:
    """Return an array twice as wide and high, in which each value fills a square of 2 x 2."""
    return np.repeat(np.repeat(values, 2, axis=0), 2, axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Best number of updates on one half of the points, and the smoothing that was used.

    `likelihood` is the log-likelihood of the other half after that many updates.
    """

    likelihood: float
    updates: int
    smoothing: Smoothing


def _best_strength(
    channel: Channel,
    base: Floats,
    fitted: Floats,
    watched: Floats,
    progress: Callable[[int, int], None] | None,
) -> Fit:
    """Return the best fit to `fitted`, over strengths of the smoothing.

    Each of `fitted` and `watched` holds counts of one half of the points in fine cells. The best
    fit has the greatest likelihood of `watched`. The likelihood rises and then falls with the
    strength, so strengths next to the best one are tried until none is better.
    """

    def at(index: int) -> Fit:
        smoothing = Smoothing(base, STRENGTHS[index])
        return _best(channel, smoothing, fitted, watched, progress)

    index, best = FIRST_STRENGTH, at(FIRST_STRENGTH)
    for step in (1, -1):
        while 0 <= index + step < len(STRENGTHS):
            fit = at(index + step)
            if fit.likelihood <= best.likelihood:
                break
            index, best = index + step, fit
        if index > FIRST_STRENGTH:
            break
    return best


def _best(
    channel: Channel,
    smoothing: Smoothing,
    fitted: Floats,
    watched: Floats,
    progress: Callable[[int, int], None] | None,
) -> Fit:
    """Return the best number of updates with `fitted`, the points of one half in each fine cell.

    It is the number after which `watched`, the points of the other half, are likeliest.
    """
    if not (fitted.any() and watched.any()):
        return Fit(-math.inf, 1, smoothing)
    best, likeliest, density = 1, -math.inf, smoothing.base
    for number in range(1, MAX_UPDATES + 1):
        density = update(channel, density, fitted)
        density = smoothing.apply(density, fitted.sum(), number - 1)
        expected = channel.forward(density)
        likelihood = float((watched * np.log(np.maximum(expected, 1e-300))).sum())
        if likelihood > likeliest:
            best, likeliest = number, likelihood
        elif number >= best + PATIENCE:
            break
        if progress:
            progress(number, MAX_UPDATES)
    return Fit(likeliest, best, smoothing)


def _start(channel: Channel, prior: Floats | None) -> Floats:
    density = channel.inside.astype(np.float64)
    if prior is not None:
        repeated = np.repeat(np.repeat(prior, channel.factor, axis=0), channel.factor, axis=1)
        # Updates are multiplicative, so a cell that starts at 0 would stay at 0.
        density *= np.maximum(repeated, prior.max() * 1e-3)
    return np.asarray(density / density.sum(), dtype=np.float64)


def _histogram(cells: NDArray[np.int64], size: int, channel: Channel) -> Floats:
    counts = np.bincount(cells[cells >= 0], minlength=size).astype(np.float64)
    return counts.reshape(channel.fine.shape)


def _split_in_halves(cells: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return a mask (n,) of about half of the points.

    A point's entry is one bit of a hash of its index (SplitMix64).
    """
    state = np.arange(len(cells), dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(state >> np.uint64(63) == 1)


def _factor(grid: Grid, noise: PlanarLaplace) -> int:
    wanted = math.ceil(_metres(grid, grid.rows / 2) * noise.rate / FINE_SCALE)
    return max(1, min(wanted, MAX_FINE_CELLS, MAX_SIDE // max(grid.rows, grid.columns)))


def _metres(grid: Grid, row: float) -> float:
    """Return the side length of the cells in a row, in metres on the ground."""
    latitude = to_degrees(0, grid.north - row * grid.cell)[1]
    return grid.cell * ground_scale(float(latitude))


def _least_metres(grid: Grid) -> float:
    return min(_metres(grid, 0), _metres(grid, grid.rows))


def _bands(grid: Grid) -> list[slice]:
    """Return ranges of rows within which the ground size of cells differs by less than the share
    BAND.
    """
    sizes = np.log([_metres(grid, row + 0.5) for row in range(grid.rows)])
    wanted = max(1, math.ceil((sizes.max() - sizes.min()) / BAND))
    number = ((sizes - sizes.min()) / (sizes.max() - sizes.min() + 1e-300) * wanted).astype(int)
    number = np.minimum(number, wanted - 1)
    # Rows of equal cell size north and south of the equator end up in separate bands, which is
    # correct but takes more time.
    edges = [0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), grid.rows]
    return [slice(first, after) for first, after in itertools.pairwise(edges)]


def _offsets(noise: PlanarLaplace, metres: float, reach: int) -> Floats:
    """Return the probabilities of displacement by up to `reach` rows and columns.

    The array has 2 * reach + 1 rows and columns; its middle entry is the probability of no
    displacement. Origin and destination cells are divided into parts that are small compared with
    the noise scale. The noise density is averaged over all pairs of an origin part and a
    destination part.
    """
    parts = min(16, max(2, math.ceil(4 * noise.rate * metres)))
    weights = parts - np.abs(np.arange(1 - parts, parts))
    steps = np.arange(-reach, reach + 1)
    result = np.zeros((steps.size, steps.size))
    for row, row_weight in zip(range(1 - parts, parts), weights, strict=True):
        for column, column_weight in zip(range(1 - parts, parts), weights, strict=True):
            distance = metres * np.hypot(
                steps[:, None] + row / parts, steps[None, :] + column / parts
            )
            result += row_weight * column_weight * np.exp(-noise.rate * distance)
    return np.asarray(result / result.sum(), dtype=np.float64)


def _smooth(least: int) -> int:
    """Return the smallest size >= `least` without prime factors above 5; FFTs of it are fast."""
    number = least
    while True:
        cofactor = number
        for prime in (2, 3, 5):
            while cofactor % prime == 0:
                cofactor //= prime
        if cofactor == 1:
            return number
        number += 1
