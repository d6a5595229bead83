"""Releases for the benchmark `costs`: a few large ones and many small ones."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import shapely

from benchmarks import serving_data
from dpgeo.artefacts import geoparquet, statement, vector_tiles
from dpgeo.artefacts.formats import BuiltFile, LayerFormat
from dpgeo.core.measures import Measure
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.released import (
    Content,
    FlowsRelease,
    GridQuartiles,
    GridRelease,
    TreeRelease,
    ZonesRelease,
)
from dpgeo.core.slices import UNDIVIDED
from dpgeo.datasets.models import Dataset
from dpgeo.pages.cards import cards_make
from dpgeo.postprocess.layers import layers
from dpgeo.releases import files
from dpgeo.releases.models import Release
from dpgeo.releases.publication import publish
from dpgeo.releases.release_job import commit
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.zones import Zones

NOISE = DiscreteLaplace(Fraction(1, 2), 1)


def fill(cells: int, releases: int) -> dict[str, str]:
    """Publish large releases and many small ones; return the ids of the large ones by kind.

    Grids have `cells` cells along each side; `releases` is the number of small releases.
    """
    dataset = Release.objects.get(pk=serving_data.fill(releases)).dataset
    contents = {
        "grid": grid(cells),
        "quadtree": quadtree(cells),
        "zones": zones(),
        "flows": flows(),
        "quartiles": quartiles(),
    }
    published = {kind: _publish(dataset, kind, content) for kind, content in contents.items()}
    # On a site, the reaper soon makes each map's card (its facts in lists); here no reaper runs.
    cards_make(seconds=600)
    return published


def grid(cells: int) -> GridRelease:
    """Return a heatmap of `cells` by `cells` cells."""
    frame = Grid.over(serving_data.AREA, cells)
    counts = (np.arange(frame.size, dtype=np.int64) * 7919 % 401 - 40).reshape(frame.shape)
    return GridRelease(grid=frame, counts=counts, noise=NOISE)


def quadtree(cells: int) -> TreeRelease:
    """Return a quadtree: square boxes of all sizes down to one cell; `cells` is a power of two."""
    frame = Grid.over(serving_data.AREA, cells)
    boxes, levels, parents, start = [], [], [], 0
    depth = cells.bit_length()
    for level in range(depth):
        side, along = cells >> level, 1 << level
        row, column = np.divmod(np.arange(along * along), along)
        boxes.append(np.column_stack([row, row + 1, column, column + 1]) * side)
        levels.append(np.full(along * along, level))
        above = row // 2 * (along // 2) + column // 2 + start - (along // 2) ** 2
        parents.append(above if level else np.full(1, -1))
        start += along * along
    size = start
    return TreeRelease(
        grid=frame,
        boxes=np.concatenate(boxes).astype(np.int32),
        level=np.concatenate(levels).astype(np.int32),
        parent=np.concatenate(parents).astype(np.int32),
        measured=np.ones(size, dtype=np.bool_),
        counts=np.arange(size, dtype=np.int64) * 7919 % 401,
        noises=(NOISE,) * depth,
    )


def zones(along: int = 32, corners: int = 480) -> ZonesRelease:
    """Return about a thousand round zones with `corners` vertices each."""
    west, south, east, north = serving_data.AREA.bounds
    x, y = np.meshgrid(
        np.linspace(west, east, along + 2)[1:-1], np.linspace(south, north, along + 2)[1:-1]
    )
    angle = np.linspace(0, 2 * np.pi, corners, endpoint=False)
    radius = (north - south) / (along + 2)
    rings = np.stack(
        [
            x.ravel()[:, None] + radius * np.cos(angle),
            y.ravel()[:, None] + radius * np.sin(angle) / 2,
        ],
        axis=2,
    )
    names = tuple(str(number) for number in range(along * along))
    return ZonesRelease(
        zones=Zones(keys=names, names=names, shapes=shapely.polygons(rings)),
        counts=np.arange(along * along, dtype=np.int64),
        noise=NOISE,
    )


def flows(along: int = 32) -> FlowsRelease:
    """Return flows between about a thousand squares at four times of day."""
    west, south, east, north = serving_data.AREA.bounds
    x, y = np.linspace(west, east, along + 1), np.linspace(south, north, along + 1)
    squares = shapely.box(x[:-1], y[:-1, None], x[1:], y[1:, None]).ravel()
    size = squares.size
    names = tuple(str(number) for number in range(size))
    hours = ("00-06", "06-12", "12-18", "18-24")
    sums = np.arange(len(hours) * size, dtype=np.int64).reshape(len(hours), size)
    return FlowsRelease(
        zones=Zones(keys=names, names=names, shapes=squares),
        squares=False,
        keys=hours,
        titles=hours,
        time_zone="UTC",
        gap_hours=0,
        within=True,
        sparse=False,
        threshold=30,
        ends_threshold=0,
        listed=np.empty(0, dtype=np.int64),
        pairs=np.arange(len(hours) * size**2, dtype=np.int64) * 7919 % 401 - 40,
        leaving=sums,
        arriving=sums,
        noise=NOISE,
        sum_noise=NOISE,
    )


def quartiles(cells: int = 128, bins: int = 50) -> GridQuartiles:
    """Return histograms of speeds in `cells` by `cells` cells."""
    frame = Grid.over(serving_data.AREA, cells)
    shape = (*frame.shape, bins)
    return GridQuartiles(
        grid=frame,
        measure=Measure(column="speed", title="Speed", low=0, high=50, unit="km/h", steps=100),
        counts=(np.arange(frame.size * bins, dtype=np.int64) * 7919 % 101).reshape(shape),
        noise=NOISE,
        slices=UNDIVIDED,
    )


def _publish(dataset: Dataset, kind: str, content: Content) -> str:
    mechanism = {"grid": "uniform-grid"}.get(kind, kind)
    release = serving_data.make_release(dataset, mechanism)
    released = serving_data.released(release, content)
    commit(release, released)
    with tempfile.TemporaryDirectory() as folder:
        formats: tuple[LayerFormat, ...] = (geoparquet.FORMAT, vector_tiles.FORMAT)
        for layer_format in formats if kind in ("grid", "zones") else ():
            layer = layers(released)[0]
            path = Path(folder) / (layer.name + layer_format.suffix)
            layer_format.write(released, layer, path)
            files.keep_file(release, BuiltFile(path.name, layer_format.media_type, path))
        path = Path(folder) / statement.NAME
        path.write_text("{}")
        files.keep_file(release, BuiltFile(path.name, statement.MEDIA_TYPE, path))
    publish(release)
    return str(release.pk)
