"""Picture for docs/mechanisms/planar-laplace.md.

It shows an invented city, its perturbed points and its recovered density, with circles that show
the noise to scale.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.levels import make_level
from dpgeo.core.noise import PlanarLaplace
from dpgeo.postprocess.deconvolution import recover
from dpgeo.privacy.planar_laplace_sampler import move
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.ground_grid import GroundGrid, grid_step, input_step
from dpgeo.spatial.projection import to_mercator
from dpgeo.spatial.truncation import UNITS, Truncation
from tests.randomness import SeededWords

CELLS = 96
PANEL = 384
GAP = 24
CAPTION = 30
INK = (23, 45, 61)
RAMP = np.array([(240, 244, 240), (146, 190, 178), (42, 122, 128), (15, 52, 82)], dtype=float)

AREA = StudyArea.from_bounds(10.0, 50.0, 10.0 + 0.35 / 2, 50.0 + 0.225 / 2)


def add_to(subcommands: Any) -> None:
    """Add the subcommand `geoind-picture` to the command line."""
    parser = subcommands.add_parser("geoind-picture", help=__doc__)
    parser.add_argument("target", type=Path, help="a .png file")
    parser.set_defaults(run=draw)


def draw(options: argparse.Namespace) -> None:
    """Write the picture to the requested file."""
    from PIL import Image, ImageDraw

    level = make_level("ln 4", 200)
    noise = PlanarLaplace(level.epsilon, 1, grid_step(level.radius), input_step(level.radius))
    lon, lat = _city(np.random.default_rng(7))
    grid = Grid.over(AREA, CELLS)
    moved = move(lon, lat, noise, SeededWords(1))
    east, north = (each / UNITS for each in Truncation(AREA, GroundGrid(2)).apply(*moved))
    panels = {
        "where reports were made": _counts(grid, lon, lat),
        "where the moved points lie": _counts(grid, east, north),
        "density recovered from the points": recover(east, north, noise, grid, AREA).density,
    }
    picture = Image.new("RGB", (3 * PANEL + 2 * GAP, PANEL + CAPTION), (255, 255, 255))
    pen = ImageDraw.Draw(picture)
    top = max(float(np.quantile(each, 0.998)) for each in panels.values())
    pixels_per_metre = PANEL / CELLS / grid.ground_cell_metres
    for number, (words, counts) in enumerate(panels.items()):
        left = number * (PANEL + GAP)
        panel = Image.fromarray(_coloured(counts / top)).resize((PANEL, PANEL), 0)
        picture.paste(panel, (left, 0))
        pen.text((left + 2, PANEL + 9), words, fill=INK)
        if number == 1:
            _circles(pen, noise, left + PANEL - 76, PANEL - 90, pixels_per_metre)
    picture.save(options.target, optimize=True)


def _circles(pen: Any, noise: PlanarLaplace, x: float, y: float, scale: float) -> None:
    for share in (0.5, 0.95):
        radius = noise.radius(share) * scale
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), outline=INK, width=2)
    pen.text((x - 62, y + noise.radius(0.95) * scale + 4), "50 % and 95 % of reports", fill=INK)


def _city(generator: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return positions of people in invented streets, squares and a ring road."""
    west, south, east, north = AREA.bounds
    squares = generator.uniform((west, south), (east, north), (60, 2))
    weights = generator.pareto(1.3, 60) + 0.2
    at = squares[generator.choice(60, 60_000, p=weights / weights.sum())]
    at = at + generator.normal(0, 1, (60_000, 2)) * (0.0012, 0.0008)
    turn = generator.uniform(0, 2 * math.pi, 25_000)
    ring = np.column_stack([np.cos(turn) * 0.055, np.sin(turn) * 0.035])
    ring += ((west + east) / 2, (south + north) / 2)
    ring += generator.normal(0, 1, (25_000, 2)) * (0.0005, 0.0003)
    street = np.linspace(0, 1, 15_000)[:, None] * ((east - west) * 0.9, (north - south) * 0.8)
    street += (west + 0.008, south + 0.01)
    lon, lat = np.concatenate([at, ring, street]).T
    inside = AREA.covers(lon, lat)
    return lon[inside], lat[inside]


def _counts(grid: Grid, lon: NDArray[np.float64], lat: NDArray[np.float64]) -> NDArray[np.float64]:
    cells = grid.locate(*to_mercator(lon, lat))
    return np.bincount(cells, minlength=grid.size).reshape(grid.shape).astype(np.float64)


def _coloured(share: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Return the colours (rows, columns, 3) of values from 0 to 1, on a square-root scale."""
    place = np.sqrt(np.clip(share, 0, 1)) * (len(RAMP) - 1)
    bands = [np.interp(place, np.arange(len(RAMP)), RAMP[:, band]) for band in range(3)]
    return np.stack(bands, axis=-1).round().astype(np.uint8)
