"""Population densities at given points and in rings around them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpgeo.postprocess.tasks.density import (
    DensityRule,
    between_lines,
    ring_edges,
)
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.projection import to_degrees
from tests.unit.postprocess.tasks.surfaces import even_surface, two_towns


def centres(grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    row, column = np.mgrid[0 : grid.rows, 0 : grid.columns] + 0.5
    lon, lat = to_degrees(
        grid.west + column.ravel() * grid.cell, grid.north - row.ravel() * grid.cell
    )
    return lon, lat


def test_bilinear_interpolation_equals_every_cell_at_its_centre() -> None:
    surface = two_towns()
    lon, lat = centres(surface.grid)
    exact = (surface.counts / surface.ground[:, None]).ravel()
    assert np.allclose(surface.at(lon, lat), exact, rtol=1e-9, atol=1e-12)


def test_halfway_between_two_centres_is_their_mean() -> None:
    surface = two_towns()
    grid = surface.grid
    row, column = 25, 28
    x = grid.west + (column + 1.0) * grid.cell
    y = grid.north - (row + 0.5) * grid.cell
    lon, lat = to_degrees([x], [y])
    mean = surface.counts[row, column : column + 2].mean() / surface.ground[row]
    assert surface.at(lon, lat)[0] == pytest.approx(mean, rel=1e-9)


def test_density_is_zero_outside_the_grid() -> None:
    surface = even_surface()
    assert surface.at(np.array([0.0, 18.1]), np.array([59.3, 10.0])).tolist() == [0, 0]
    assert surface.noise_at(np.array([0.0]), np.array([59.3])).tolist() == [0]


def test_the_sources_rule_uses_line_values_and_means_between_lines() -> None:
    lines = np.array([1.0, 3.0, 9.0])
    density = np.array([0.0, 0.5, 1.0, 1.7, 3.0, 5.0, 9.0, 40.0])
    assert between_lines(density, lines).tolist() == [0, 0, 1, 2, 3, 6, 9, 9]
    assert between_lines(density, np.array([])).tolist() == [0] * 8


def test_rings_on_an_even_surface_are_even() -> None:
    surface = even_surface()
    edges = ring_edges(2000.0)
    rings = surface.rings(np.array([18.1]), np.array([59.3]), edges, DensityRule.BILINEAR)
    assert np.allclose(rings, surface.at(np.array([18.1]), np.array([59.3])), rtol=2e-3)


@pytest.mark.parametrize("metres", [300.0, 2000.0, 15000.0])
def test_rings_hold_the_people_that_live_there(metres: float) -> None:
    surface = two_towns(128)
    lon, lat = np.array([18.09, 18.17]), np.array([59.315, 59.285])
    edges = ring_edges(metres)
    rings = surface.rings(lon, lat, edges, DensityRule.BILINEAR)
    people = (math.pi * rings * np.diff(edges**2)).sum(axis=1)
    for task in range(2):
        fine = (np.arange(500) + 0.5) / 250 - 1
        across, along = (axis.ravel() * metres for axis in np.meshgrid(fine, fine))
        near = np.hypot(across, along) <= metres
        around_lat = lat[task] + np.degrees(along[near] / 6371008.8)
        scale = 6371008.8 * math.cos(math.radians(lat[task]))
        around_lon = lon[task] + np.degrees(across[near] / scale)
        exact = surface.at(around_lon, around_lat).sum() * (metres / 250) ** 2
        assert people[task] == pytest.approx(exact, rel=0.05)


def test_the_sources_rule_holds_around_tasks_too() -> None:
    surface = even_surface(3.0)
    edges = ring_edges(1000.0)
    rings = surface.rings(np.array([18.1]), np.array([59.3]), edges, DensityRule.CONTOURS)
    assert np.allclose(rings, surface.lines[1:3].mean())
