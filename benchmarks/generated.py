"""Generated maps of several kinds, used to choose rules and constants.

Each kind is uneven in a different way, such as clusters, unevenness at every scale, roads, a few
heavy cells, tables of two attributes that are mostly zero, bands or a city. One kind is even.

DENSE_TUNING and DENSE_TEST are maps on which few cells are empty. Rules for dense maps are chosen
on DENSE_TUNING; DENSE_TEST is measured only once a rule is chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def generated(kind: str, cells: int, seed: int) -> Floats:
    """Return the probabilities (cells, cells) of one of the KINDS; a seed always gives the same
    map.
    """
    random = np.random.default_rng([seed, list(KINDS).index(kind)])
    weights = KINDS[kind](cells, random)
    return np.asarray(weights / weights.sum())


def _coordinates(cells: int) -> tuple[Floats, Floats]:
    rows, columns = np.mgrid[0:cells, 0:cells] / cells
    return rows, columns


def _clusters(cells: int, random: Generator) -> Floats:
    """Return cells' weights: clusters of very different widths around a few centres."""
    rows, columns = _coordinates(cells)
    weights = np.zeros((cells, cells))
    for _ in range(int(random.integers(2, 12))):
        row, column = random.random(2)
        width = np.exp(random.uniform(-4.5, -1.5))
        distance = (rows - row) ** 2 + (columns - column) ** 2
        weights += random.random() * np.exp(-distance / (2 * width**2)) / width
    return weights


def _cascade(cells: int, random: Generator) -> Floats:
    """Return cells' weights from a multiplicative cascade.

    At every level, each square's weight is divided unevenly among its four quarters.
    """
    weights = np.ones((1, 1))
    while len(weights) < cells:
        side = len(weights)
        shares = random.gamma(random.choice([0.15, 0.4, 1.0, 4.0]), 1, (side, 2, side, 2)) + 1e-9
        shares /= shares.sum(axis=(1, 3), keepdims=True)
        weights = (weights[:, None, :, None] * shares).reshape(2 * side, 2 * side)
    return weights


def _roads(cells: int, random: Generator) -> Floats:
    """Return cells' weights: roads that meet at a centre and are busier near it."""
    weights = np.zeros((cells, cells))
    centre = cells * (0.3 + 0.4 * random.random(2))
    for _ in range(int(random.integers(10, 40))):
        start = random.random(2) * cells
        way = np.linspace(0, 1, 4 * cells)[:, None]
        row, column = np.clip(start + (centre - start) * way, 0, cells - 1).astype(np.int64).T
        np.add.at(weights, (row, column), random.pareto(1.2) * np.exp(3 * way[:, 0]))
    return weights * random.lognormal(0, 1, (cells, cells))


def _heavy_cells(cells: int, random: Generator) -> Floats:
    """Return a map with all people in a few random cells, with sizes that follow a power law."""
    weights = np.zeros((cells, cells))
    number = int(random.integers(5, 80))
    places = random.integers(0, cells, (number, 2))
    sizes = np.arange(1, number + 1) ** -random.uniform(0.7, 2)
    np.add.at(weights, (places[:, 0], places[:, 1]), sizes)
    return weights


def _table(cells: int, random: Generator) -> Floats:
    """Return cells' weights: a table of two attributes, mostly zero and rarely both positive."""
    axes = [_attribute(cells, random) for _ in range(2)]
    together = random.choice([0.0, 0.02, 1.0])
    weights = np.outer(axes[0], axes[1])
    weights[1:, 1:] *= together
    return weights


def _attribute(cells: int, random: Generator) -> Floats:
    """Return the probabilities (cells,) of the values 0, 1, 2, ... of one attribute.

    Most people have the value 0; the others' values have a heavy tail.
    """
    number = int(random.integers(10, cells))
    chances = np.zeros(cells)
    values = random.choice(np.arange(1, cells), min(number, cells - 1), replace=False)
    chances[values] = random.pareto(0.8, len(values)) * np.exp(-values / random.uniform(5, cells))
    chances /= chances.sum()
    nought = random.uniform(0.5, 0.97)
    chances *= 1 - nought
    chances[0] = nought
    return chances


def _corner(cells: int, random: Generator) -> Floats:
    """Return cells' weights, which decrease with the distance from a corner.

    The corner's own cell may be much heavier.
    """
    falls = [np.exp(-np.arange(cells) / random.uniform(2, 30)) for _ in range(2)]
    weights = np.outer(falls[0], falls[1])
    weights[0, 0] *= random.uniform(1, 2000)
    return weights


def _band(cells: int, random: Generator) -> Floats:
    """Return cells' weights: a strip across the map, such as a valley or a coast."""
    rows, columns = _coordinates(cells)
    across = (rows - columns * random.uniform(0.3, 1)) / random.uniform(0.02, 0.15)
    return np.exp(-(across**2) - 3 * columns) * random.gamma(0.5, 1, (cells, cells))


def _city(cells: int, random: Generator) -> Floats:
    """Return cells' weights: a city of 40 quarters with heavy-tailed extents and populations.

    All places of one quarter have the same weight.
    """
    weights = np.zeros((cells, cells))
    for centre in random.random((40, 2)) * cells * 0.5 + cells * 0.2:
        places = centre + random.standard_t(1.5, (400, 2)) * 3
        row, column = np.clip(places, 0, cells - 1).astype(np.int64).T
        np.add.at(weights, (row, column), random.pareto(1.0))
    return weights


def _product(cells: int, random: Generator) -> Floats:
    """Return cells' weights: products of independent row and column weights with peaks."""
    axes = [random.gamma(random.choice([0.1, 0.3, 1.0]), 1, cells) + 1e-9 for _ in range(2)]
    return np.outer(axes[0], axes[1])


def _towns(cells: int, random: Generator) -> Floats:
    """Return cells' weights: towns of heavy-tailed sizes among a thin, even population."""
    rows, columns = _coordinates(cells)
    weights = np.full((cells, cells), random.uniform(0.001, 0.1))
    for size in random.pareto(1.0, int(random.integers(5, 60))):
        row, column = random.random(2)
        width = 0.004 * (1 + size) ** 0.5
        distance = (rows - row) ** 2 + (columns - column) ** 2
        weights += np.exp(-np.sqrt(distance) / width) * random.lognormal(0, 0.5, (cells, cells))
    return weights


def _cropped_city(cells: int, random: Generator) -> Floats:
    """Return cells' weights: the uneven middle of a city, with a river and a few parks."""
    weights = np.ones((1, 1))
    unevenness = random.uniform(1.5, 6)
    while len(weights) < cells:
        weights = weights.repeat(2, axis=0).repeat(2, axis=1)
        weights = weights * random.gamma(unevenness, 1 / unevenness, weights.shape)
    weights = weights[:cells, :cells]
    rows, columns = _coordinates(cells)
    centre = 0.3 + 0.4 * random.random(2)
    weights = weights * np.exp(-2 * np.hypot(rows - centre[0], columns - centre[1]))
    bend = random.uniform(0.2, 0.8) + 0.1 * np.sin(6 * columns + random.uniform(0, 6))
    weights[np.abs(rows - bend) < random.uniform(0.005, 0.02)] *= 0.01
    for _ in range(int(random.integers(0, 5))):
        row, column = random.random(2)
        park = np.hypot(rows - row, columns - column) < random.uniform(0.02, 0.08)
        weights[park] *= 0.1
    return np.asarray(weights)


def _country(cells: int, random: Generator) -> Floats:
    """Return cells' weights: towns with power-law sizes, villages, and a thin rural population."""
    rows, columns = _coordinates(cells)
    weights = random.gamma(0.5, 1, (cells, cells))
    number = int(random.integers(20, 120))
    rural = random.uniform(0.1, 0.4)
    towns = np.zeros((cells, cells))
    for rank in range(1, number + 1):
        row, column = random.random(2)
        size = rank ** -random.uniform(0.8, 1.2)
        width = 0.03 * size**0.4
        towns += size * np.exp(-np.hypot(rows - row, columns - column) / width) / width**2
    towns *= random.lognormal(0, 0.7, (cells, cells))
    return np.asarray(rural * weights / weights.sum() + (1 - rural) * towns / towns.sum())


def _stations(cells: int, random: Generator) -> Floats:
    """Return cells' weights: a city whose stations and airports are single, very heavy cells."""
    city = _cropped_city(cells, random)
    number = int(random.integers(5, 40))
    spikes = np.zeros((cells, cells))
    places = random.integers(0, cells, (number, 2))
    np.add.at(spikes, (places[:, 0], places[:, 1]), random.pareto(1.2, number) + 0.1)
    share = random.uniform(0.1, 0.5)
    return np.asarray((1 - share) * city / city.sum() + share * spikes / spikes.sum())


def _even(cells: int, random: Generator) -> Floats:
    """Return a map with the same number of people everywhere."""
    return np.ones((cells, cells))


KINDS: dict[str, Callable[[int, Generator], Floats]] = {
    "clusters": _clusters,
    "cascade": _cascade,
    "roads": _roads,
    "heavy cells": _heavy_cells,
    "table": _table,
    "corner": _corner,
    "band": _band,
    "city": _city,
    "product": _product,
    "towns": _towns,
    "even": _even,
    "cropped city": _cropped_city,
    "country": _country,
    "stations": _stations,
}


@dataclass(frozen=True, slots=True)
class DenseMap:
    """One of the dense maps, and the number of records drawn from it."""

    kind: str
    seed: int
    records: int


def _dense(seeds: range) -> list[DenseMap]:
    return [
        DenseMap(kind, seed, 10 ** (4 + seed % 4))
        for kind in ("cropped city", "country", "stations")
        for seed in seeds
    ]


DENSE_TUNING = _dense(range(4))
DENSE_TEST = _dense(range(4, 8))
