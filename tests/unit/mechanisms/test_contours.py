"""Contour maps: surfaces from noisy cells, and the lines and bands drawn from them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import shapely

from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.parameters import parse_parameters
from dpgeo.core.released import ContourRelease, Released
from dpgeo.mechanisms.contours import MECHANISM
from dpgeo.postprocess.contours import (
    Smoothing,
    Spacing,
    draw_bands,
    draw_lines,
    line_values,
    make_surface,
)
from dpgeo.postprocess.tasks.density import DensitySurface
from dpgeo.privacy.mechanism import run
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid
from tests.conformance.cases import AREA, city
from tests.randomness import SeededEntropy

NOISE = DiscreteLaplace(Fraction(1, 2), 1)
BOX = StudyArea.from_bounds(17.9, 59.2, 18.3, 59.4)


def hill(cells: int = 40) -> tuple[Grid, np.ndarray]:
    grid = Grid.over(BOX, cells)
    row, column = np.mgrid[0:cells, 0:cells] / cells - 0.5
    return grid, 100 * np.exp(-(row**2 + column**2) / 0.02)


def released(**given: object) -> Released:
    params = parse_parameters(MECHANISM.params, {"cells": 16, **given})
    return run(MECHANISM, city(), params, Fraction(4), SeededEntropy(3), {})


@pytest.mark.parametrize("smoothing", list(Smoothing))
def test_surfaces_are_never_negative_and_empty_outside(smoothing: Smoothing) -> None:
    content = released(smoothing=smoothing.value).content
    assert isinstance(content, ContourRelease)
    assert (content.counts < 0).any()
    assert (content.surface >= 0).all()
    assert content.surface.any()
    assert not content.surface[~content.grid.inside(AREA)].any()


@pytest.mark.parametrize("smoothing", [Smoothing.NONE, Smoothing.BLURRED])
def test_unsmoothed_and_blurred_surfaces_keep_the_noisy_total(smoothing: Smoothing) -> None:
    random = np.random.default_rng(2)
    counts = random.integers(-3, 9, (16, 16))
    inside = random.random((16, 16)) < 0.8
    surface = make_surface(counts, NOISE, inside, smoothing)
    assert surface.sum() == pytest.approx(counts[inside].sum())


def test_automatic_lines_begin_above_most_empty_cells() -> None:
    grid, surface = hill()
    lines = line_values(surface, NOISE, grid, Spacing.NOISE, 1, 30)
    cell = grid.ground_areas.mean() / 1e6
    assert lines[0] == pytest.approx(NOISE.threshold() / cell)
    assert np.allclose(lines[1:] / lines[:-1], 2)
    assert lines[-1] < surface.max() / (grid.ground_areas.min() / 1e6)


def test_lines_run_where_the_surface_has_their_value() -> None:
    grid, surface = hill()
    plane = DensitySurface(grid=grid, counts=surface, noise=np.ones(grid.shape))
    for value, line in zip((20.0, 80.0), draw_lines(surface, grid, (20.0, 80.0), BOX), strict=True):
        corners = shapely.get_coordinates(line)
        density = plane.at(corners[:, 0], corners[:, 1]) * 1e6
        assert np.allclose(density, value, rtol=0.02)


def test_bands_lie_side_by_side_and_fill_the_ground_within_the_first_line() -> None:
    grid, surface = hill()
    values = (20.0, 40.0, 80.0)
    bands = draw_bands(surface, grid, values, BOX)
    whole = draw_bands(surface, grid, values[:1], BOX)[0]
    assert all(band.is_valid and band.geom_type == "MultiPolygon" for band in bands)
    assert sum(band.area for band in bands) == pytest.approx(whole.area, rel=1e-5)
    assert bands[0].intersection(bands[1]).area < 1e-9


def test_the_area_cuts_bands_and_lines() -> None:
    grid, surface = hill()
    west = StudyArea.from_bounds(17.9, 59.2, 18.1, 59.4)
    (band,) = draw_bands(surface, grid, (20.0,), west)
    (line,) = draw_lines(surface, grid, (20.0,), west)
    assert band.bounds[2] <= 18.1 + 1e-9
    assert line.bounds[2] <= 18.1 + 1e-9
