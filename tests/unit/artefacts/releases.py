"""Small invented Released objects of every content type."""

from __future__ import annotations

import dataclasses
from datetime import date
from fractions import Fraction

import numpy as np
import shapely

from dpgeo.core.categories import Category
from dpgeo.core.guarantees import Counting, GeoInd, PureDP, Unit
from dpgeo.core.levels import make_level
from dpgeo.core.measures import Measure
from dpgeo.core.noise import DiscreteLaplace, PlanarLaplace
from dpgeo.core.released import (
    NO_TIME,
    ClustersRelease,
    Content,
    ContourRelease,
    FlowsRelease,
    GridAverages,
    GridQuartiles,
    GridRelease,
    LocationsRelease,
    PartitionRelease,
    PhasedRelease,
    PhasedSlicesRelease,
    PlacesRelease,
    PointsRelease,
    ProfileRelease,
    Released,
    SlicesRelease,
    SparseRelease,
    TreeRelease,
    TripsRelease,
    ZoneAverages,
    ZoneQuartiles,
    ZonesRelease,
)
from dpgeo.core.series import Part, Period, Protection, Terms
from dpgeo.core.slices import UNDIVIDED, Slicing
from dpgeo.core.spend import Measured
from dpgeo.core.time_slices import PARTS, TIME_SLICES
from dpgeo.core.trip_paths import neighbours
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.boxes import summed_area, tiles
from dpgeo.spatial.centres import spread_evenly
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.places import Places
from dpgeo.spatial.zones import Zones

TRIANGLE = StudyArea.from_geojson(
    {"type": "Polygon", "coordinates": [[[4.3, 52.0], [4.9, 52.05], [4.55, 52.4], [4.3, 52.0]]]}
)
"""A triangular study area that leaves some cells of its grid outside."""

ABOUT = {
    "title": "Evening walks",
    "description": "Where people walk after six, in an invented city.",
    "dataset": "Walks",
    "dataset_slug": "walks",
    "publisher": "City of Example",
    "licence": "CC BY 4.0",
    "attribution": "City of Example, invented data",
    "dataset_total_epsilon": "2",
}


def grid_release(
    cells: int = 8, *, area: StudyArea = TRIANGLE, epsilon: str = "0.5", bound: int = 3
) -> Released:
    """Return a uniform-grid release whose invented noisy counts follow from the cells'
    positions.
    """
    grid = Grid.over(area, cells)
    noise = DiscreteLaplace(Fraction(epsilon), bound)
    values = (np.arange(grid.size, dtype=np.int64) * 7919 % 401 - 40).reshape(grid.shape)
    content = GridRelease(grid=grid, counts=np.where(grid.inside(area), values, 0), noise=noise)
    trace = (Measured(label="cell counts", epsilon=Fraction(epsilon), noise=noise),)
    return _released("uniform-grid", {"cells": cells}, content, trace, area, bound)


def slices_release(cells: int = 8, *, area: StudyArea = TRIANGLE) -> Released:
    """Return a release of a grid in two time slices, before and after noon."""
    grid = Grid.over(area, cells)
    noise = DiscreteLaplace(Fraction(1, 2), 3)
    values = np.arange(2 * grid.size, dtype=np.int64) * 7919 % 401 - 40
    content = SlicesRelease(
        grid=grid,
        keys=("00-12", "12-24"),
        titles=("00:00 to 12:00", "12:00 to 24:00"),
        time_zone="Europe/Amsterdam",
        counts=np.where(grid.inside(area), values.reshape(2, *grid.shape), 0),
        noise=noise,
    )
    label = "cell counts of all slices"
    trace = (Measured(label=label, epsilon=Fraction(1, 2), noise=noise),)
    parameters: dict[str, int | bool | str] = {"cells": cells, "slices": "12 hours"}
    return _released("time-slices", parameters, content, trace, area, 3)


def category_slices_release(cells: int = 4, *, area: StudyArea = TRIANGLE) -> Released:
    """Return a release of a grid by category and half of the day.

    The category has two declared values and "other".
    """
    grid = Grid.over(area, cells)
    noise = DiscreteLaplace(Fraction(1, 2), 3)
    names = Slicing(TIME_SLICES["12 hours"], "UTC", Category("mode", "Mode", ("On foot", "Bus")))
    values = np.arange(6 * grid.size, dtype=np.int64) * 7919 % 401 - 40
    content = SlicesRelease(
        grid=grid,
        keys=names.names.keys,
        titles=names.names.titles,
        time_zone="UTC",
        counts=np.where(grid.inside(area), values.reshape(6, *grid.shape), 0),
        noise=noise,
        values=names.names.values,
        times=names.names.times,
        category="Mode",
    )
    label = "cell counts of all slices"
    trace = (Measured(label=label, epsilon=Fraction(1, 2), noise=noise),)
    parameters: dict[str, int | bool | str] = {"cells": cells, "category": "mode"}
    return _released("category-slices", parameters, content, trace, area, 3)


def partition_release(
    cells: int = 8, *, answers: str = "least-squares", area: StudyArea = TRIANGLE
) -> Released:
    """Return a partition of a grid into quarters, with noisy totals.

    The last quarter is split once more.
    """
    grid = Grid.over(area, cells)
    half, bound = cells // 2, 3
    cell_noise = DiscreteLaplace(Fraction(1, 4), bound)
    total_noise = DiscreteLaplace(Fraction(1, 4), bound)
    inside = grid.inside(area)
    values = (np.arange(grid.size, dtype=np.int64) * 104729 % 101 - 20).reshape(grid.shape)
    boxes = np.array(
        [
            [0, half, 0, half],
            [0, half, half, cells],
            [half, cells, 0, half],
            [half, cells, half, cells - 1],
            [half, cells, cells - 1, cells],
        ],
        dtype=np.int32,
    )
    touched = np.array([inside[top:low, left:right].any() for top, low, left, right in boxes])
    content = PartitionRelease(
        grid=grid,
        counts=np.where(inside, values, 0),
        noise=cell_noise,
        boxes=boxes,
        totals=np.where(touched, np.array([310, -7, 73, 1200, 4], dtype=np.int64), 0),
        totals_noise=total_noise,
        answers=answers,
    )
    trace = (
        Measured(label="cell counts", epsilon=Fraction(1, 4), noise=cell_noise),
        Measured(label="partition totals", epsilon=Fraction(1, 4), noise=total_noise),
    )
    parameters: dict[str, int | bool | str] = {"cells": cells, "answers": answers}
    return _released("dpcube", parameters, content, trace, area, bound)


def tree_release(cells: int = 8, *, area: StudyArea = TRIANGLE) -> Released:
    """Return a tree with counts of the grid, its quarters, and the first quarter's quarters."""
    grid = Grid.over(area, cells)
    inside = summed_area(grid.inside(area))
    root = np.array([[0, cells, 0, cells]], dtype=np.int32)
    parts, _ = tiles(root, 2, inside)
    small, _ = tiles(parts[:1], 2, inside)
    boxes = np.concatenate([root, parts, small])
    level = np.repeat([0, 1, 2], [1, len(parts), len(small)]).astype(np.int32)
    noises = tuple(DiscreteLaplace(Fraction(1, share), 3) for share in (8, 8, 4))
    content = TreeRelease(
        grid=grid,
        boxes=boxes,
        level=level,
        parent=(level - 1).astype(np.int32),
        measured=np.ones(len(boxes), dtype=np.bool_),
        counts=np.arange(len(boxes), dtype=np.int64) * 71 % 59 - 5,
        noises=noises,
    )
    trace = tuple(
        Measured(label=f"counts of level {level}", epsilon=noise.epsilon, noise=noise)
        for level, noise in enumerate(noises)
    )
    return _released("quadtree", {"cells": cells}, content, trace, area, 3)


def phased_release(cells: int = 8, *, area: StudyArea = TRIANGLE) -> Released:
    """Return a release in two phases with an even surface: first the whole grid, then its
    quarters.
    """
    grid = Grid.over(area, cells)
    mask = grid.inside(area)
    root = np.array([[0, cells, 0, cells]], dtype=np.int32)
    parts, _ = tiles(root, 2, summed_area(mask))
    noises = (DiscreteLaplace(Fraction(1, 8), 3), DiscreteLaplace(Fraction(1, 4), 3))
    content = PhasedRelease(
        grid=grid,
        boxes=np.concatenate([root, parts]),
        phase=np.repeat([0, 1], [1, len(parts)]).astype(np.int32),
        counts=np.arange(1 + len(parts), dtype=np.int64) * 71 % 59 - 5,
        noises=noises,
        surface=np.where(mask, 1.25, 0.0),
    )
    trace = tuple(
        Measured(label=f"phase {phase}", epsilon=noise.epsilon, noise=noise)
        for phase, noise in enumerate(noises)
    )
    return _released("auto", {"cells": cells}, content, trace, area, 3)


def phased_slices_release(cells: int = 8, *, area: StudyArea = TRIANGLE) -> Released:
    """Return a release of two time slices in two phases.

    The second phase divides the grid into quarters in one of the slices.
    """
    grid = Grid.over(area, cells)
    mask = grid.inside(area)
    root = np.array([[0, cells, 0, cells]], dtype=np.int32)
    parts, _ = tiles(root, 2, summed_area(mask))
    noises = (DiscreteLaplace(Fraction(1, 8), 3), DiscreteLaplace(Fraction(1, 4), 3))
    # Box counts: slices 1 and 2 in the first phase, then slices 1 and 2 in the second phase.
    sizes = [1, 1, len(parts), 1]
    content = PhasedSlicesRelease(
        grid=grid,
        keys=("00-12", "12-24"),
        titles=("00:00 to 12:00", "12:00 to 24:00"),
        time_zone="Europe/Amsterdam",
        boxes=np.concatenate([root, root, parts, root]),
        phase=np.repeat([0, 0, 1, 1], sizes).astype(np.int32),
        slice_number=np.repeat([0, 1, 0, 1], sizes).astype(np.int32),
        counts=np.arange(sum(sizes), dtype=np.int64) * 71 % 59 - 5,
        noises=noises,
        surfaces=np.stack([np.where(mask, 1.25, 0.0), np.where(mask, 2.5, 0.0)]),
    )
    trace = tuple(
        Measured(label=f"phase {phase}", epsilon=noise.epsilon, noise=noise)
        for phase, noise in enumerate(noises)
    )
    parameters: dict[str, int | bool | str] = {"cells": cells, "slices": "12 hours"}
    return _released("auto-by-time", parameters, content, trace, area, 3)


def sparse_release(
    cells: int = 8, *, listed: int = 5, area: StudyArea = TRIANGLE, epsilon: str = "0.5"
) -> Released:
    """Return a list of cells with counts above a threshold; it is empty if `listed` is 0."""
    grid = Grid.over(area, cells)
    noise = DiscreteLaplace(Fraction(epsilon), 3)
    content = SparseRelease(
        grid=grid,
        cells=np.flatnonzero(grid.inside(area))[:listed].astype(np.int64),
        counts=40 + np.arange(listed, dtype=np.int64) ** 2 * 7,
        threshold=40,
        noise=noise,
    )
    trace = (Measured(label="cell counts", epsilon=Fraction(epsilon), noise=noise),)
    return _released("sparse-grid", {"cells": cells}, content, trace, area, 3)


def clusters_release(*, area: StudyArea = TRIANGLE) -> Released:
    """Return a release of five cluster centres, spread over the study area."""
    longitude, latitude = spread_evenly(area, 5).degrees
    noise = DiscreteLaplace(Fraction(1, 4), 3)
    content = ClustersRelease(
        longitude=longitude,
        latitude=latitude,
        counts=np.array([90, -3, 12, 700, 0], dtype=np.int64),
        noise=noise,
    )
    trace = (Measured(label="records around each centre", epsilon=noise.epsilon, noise=noise),)
    return _released("private-clusters", {"clusters": 5}, content, trace, area, 3)


def zones_release(*, area: StudyArea = TRIANGLE) -> Released:
    """Return a release of two declared zones that are clipped to the study area."""
    noise = DiscreteLaplace(Fraction("0.5"), 3)
    zones = Zones(
        keys=("n", "s"),
        names=("North, Upper", "Söder"),
        shapes=shapely.box(4, [52.1, 52.0], 5, [53, 52.15]),
    )
    content = ZonesRelease(
        zones=zones.within(area), counts=np.array([70, -3], dtype=np.int64), noise=noise
    )
    trace = (Measured(label="zone counts", epsilon=Fraction("0.5"), noise=noise),)
    return _released("zones", {"zones": "wards"}, content, trace, area, 3)


def zone_averages_release(*, area: StudyArea = TRIANGLE) -> Released:
    """Return a release of the mean speed in two declared zones, one of whose means is withheld."""
    noise = DiscreteLaplace(Fraction("0.5"), 3000)
    zones = Zones(
        keys=("n", "s"),
        names=("North, Upper", "Söder"),
        shapes=shapely.box(4, [52.1, 52.0], 5, [53, 52.15]),
    )
    content = ZoneAverages(
        zones=zones.within(area),
        measure=Measure("speed", "Speed, as driven", "km/h", 0.0, 50.0),
        above=np.array([500_000, 9_000], dtype=np.int64),
        below=np.array([700_000, -3_000], dtype=np.int64),
        noise=noise,
    )
    trace = (Measured(label="sums above and below", epsilon=Fraction("0.5"), noise=noise),)
    return _released("averages", {"zones": "wards", "measure": "speed"}, content, trace, area, 3)


def sliced_averages_release(*, area: StudyArea = TRIANGLE) -> Released:
    """Return a release of the mean speed in two declared zones, by the mode of transport."""
    whole = zone_averages_release(area=area)
    content = whole.content
    assert isinstance(content, ZoneAverages)
    sliced = dataclasses.replace(
        content,
        above=np.array([[500_000, 9_000], [200_000, 300_000]], dtype=np.int64),
        below=np.array([[700_000, -3_000], [300_000, 100_000]], dtype=np.int64),
        slices=Slicing(category=Category("mode", "Mode", ("Bus",))).names,
    )
    parameters = {**whole.parameters, "category": "mode"}
    return dataclasses.replace(whole, content=sliced, parameters=parameters)


def grid_averages_release(cells: int = 4, *, area: StudyArea = TRIANGLE) -> Released:
    """Return a release of the share of records with by_bike = 1 in each cell of a grid."""
    noise = DiscreteLaplace(Fraction("0.5"), 3)
    grid = Grid.over(area, cells)
    inside = grid.inside(area)
    row, column = np.mgrid[0:cells, 0:cells]
    content = GridAverages(
        grid=grid,
        measure=Measure("by_bike", "By bike", "", 0.0, 1.0, 1),
        above=np.where(inside, 90 * column + 3 * row, 0),
        below=np.where(inside, 120 * row - 2, 0),
        noise=noise,
    )
    trace = (Measured(label="sums above and below", epsilon=Fraction("0.5"), noise=noise),)
    return _released("averages", {"cells": cells, "zones": ""}, content, trace, area, 3)


def zone_quartiles_release(*, area: StudyArea = TRIANGLE) -> Released:
    """Return the quartiles of speed in two zones; the quartiles of one zone are withheld."""
    noise = DiscreteLaplace(Fraction("0.5"), 3)
    whole = zone_averages_release(area=area).content
    assert isinstance(whole, ZoneAverages)
    speeds = np.array([4, -3, 60, 240, 410, 380, 190, 80, -9, 5], dtype=np.int64)
    content = ZoneQuartiles(
        zones=whole.zones,
        measure=whole.measure,
        counts=np.stack([speeds, speeds[::-1] // 100]),
        noise=noise,
    )
    trace = (Measured(label="counts by value", epsilon=Fraction("0.5"), noise=noise),)
    parameters: dict[str, int | bool | str] = {"zones": "wards", "measure": "speed", "bins": 10}
    return _released("quartiles", parameters, content, trace, area, 3)


def grid_quartiles_release(cells: int = 4, *, area: StudyArea = TRIANGLE) -> Released:
    """Return a release of the quartiles of speed in squares, by the mode of transport."""
    noise = DiscreteLaplace(Fraction("0.5"), 3)
    grid = Grid.over(area, cells)
    inside = grid.inside(area)[..., None]
    mode, row, column, part = np.mgrid[0:2, 0:cells, 0:cells, 0:8]
    counts = np.where(part == (column + mode) % 8, 400 * row, 7 * part - 20)
    content = GridQuartiles(
        grid=grid,
        measure=Measure("speed", "Speed", "km/h", 0.0, 50.0),
        counts=np.where(inside, counts, 0),
        noise=noise,
        slices=Slicing(category=Category("mode", "Mode", ("Bus",))).names,
    )
    trace = (Measured(label="counts by value", epsilon=Fraction("0.5"), noise=noise),)
    parameters: dict[str, int | bool | str] = {"cells": cells, "zones": "", "category": "mode"}
    return _released("quartiles", parameters, content, trace, area, 3)


def flows_release(*, sparse: bool = False, area: StudyArea = TRIANGLE) -> Released:
    """Return flows between three zones before and after noon; if `sparse`, only listed ones."""
    zones = Zones(
        keys=("n", "m", "s"),
        names=("North, Upper", "Middle", "Söder"),
        shapes=shapely.box(4, [52.2, 52.1, 52.0], 5, [53, 52.2, 52.1]),
    )
    noise = DiscreteLaplace(Fraction("0.3"), 3)
    counts = np.array([0, 410, -7, 96, 0, 12, 33, 250, 0, 0, 60, 4, 508, 0, -19, 3, 71, 0])
    number = np.flatnonzero(counts >= 26)
    content = FlowsRelease(
        zones=zones.within(area),
        squares=False,
        keys=("00-12", "12-24"),
        titles=("00:00 to 12:00", "12:00 to 24:00"),
        time_zone="Europe/Amsterdam",
        gap_hours=6 if sparse else 0,
        within=False,
        sparse=sparse,
        threshold=26,
        ends_threshold=1,
        listed=number.astype(np.int64) if sparse else np.empty(0, dtype=np.int64),
        pairs=(counts[number] if sparse else counts).astype(np.int64),
        leaving=np.array([[399, 121, 290], [50, 495, 81]], dtype=np.int64),
        arriving=np.array([[140, 660, 9], [512, 120, -31]], dtype=np.int64),
        noise=noise,
        sum_noise=DiscreteLaplace(Fraction("0.1"), 3),
    )
    shares = (("pairs of regions", "0.3"), ("departures", "0.1"), ("arrivals", "0.1"))
    trace = tuple(
        Measured(label=label, epsilon=Fraction(share), noise=DiscreteLaplace(Fraction(share), 3))
        for label, share in shares
    )
    parameters: dict[str, int | bool | str] = {"zones": "wards", "slices": "12 hours"}
    return _released("flows", parameters, content, trace, area, 3)


def trips_release(cells: int = 4, *, area: StudyArea = TRIANGLE) -> Released:
    """Return a release of made-up trips; most trips and moves in its tables lead eastwards."""
    grid = Grid.over(area, cells)
    inside = grid.inside(area).ravel()
    to = neighbours(grid)
    shares = (("starts and ends", "0.45", 3), ("moves between squares", "0.45", 180))
    noises = [DiscreteLaplace(Fraction(each), most) for _, each, most in shares]
    lengths = DiscreteLaplace(Fraction("0.1"), 3)
    apart = np.subtract.outer(np.arange(grid.size) % cells, np.arange(grid.size) % cells)
    ends = np.where(apart == -2, 90, np.arange(grid.size**2).reshape(apart.shape) % 13 - 6)
    moves = np.where(np.arange(8) == 2, 2400, np.arange(grid.size * 8).reshape(-1, 8) % 301 - 150)
    content = TripsRelease(
        grid=grid,
        gap_minutes=30,
        ends=np.where(np.logical_and.outer(inside, inside), ends, 0).astype(np.int64),
        moves=np.where(inside[:, None] & (to >= 0) & inside[to], moves, 0).astype(np.int64),
        lengths=np.maximum(400 - 130 * np.arange(40), -9).astype(np.int64),
        noise=noises[0],
        move_noise=noises[1],
        length_noise=lengths,
    )
    trace = (
        *(
            Measured(label=label, epsilon=noise.epsilon, noise=noise)
            for (label, _, _), noise in zip(shares, noises, strict=True)
        ),
        Measured(label="numbers of moves", epsilon=lengths.epsilon, noise=lengths),
    )
    parameters: dict[str, int | bool | str] = {"cells": cells, "guessed_people": 10_000}
    return _released("trips", parameters, content, trace, area, 3)


_NO_PAIRS = np.empty((0, 6), dtype=np.int64)


def places_release(*, area: StudyArea = TRIANGLE, by_time: bool = False) -> Released:
    """Return counts of six places; if `by_time`, also before and after noon."""
    share = Fraction("0.5") if by_time else Fraction(1)
    noise = DiscreteLaplace(share, 2)
    longitude, latitude = area.shape.representative_point().coords[0]
    counts = np.array([412, 40, 391, -3, 6, 208], dtype=np.int64)
    names = Slicing(TIME_SLICES["12 hours"], "Europe/Amsterdam").names if by_time else UNDIVIDED
    content = PlacesRelease(
        keys=tuple("abcdef"),
        names=("Post", "Harbour", "Station", "Quarry", "Mill", "Market"),
        longitude=longitude + 0.005 * np.arange(6),
        latitude=latitude + 0.004 * (np.arange(6) % 3),
        reach=150,
        counts=counts,
        noise=noise,
        pairs=np.stack([counts - 9, np.arange(6)]).astype(np.int64) if by_time else _NO_PAIRS,
        pair_noise=noise,
        slices=names,
        adds_up=False,
    )
    labels = ("counts of places", "counts of places by context")[: 1 + by_time]
    trace = tuple(Measured(label=label, epsilon=share, noise=noise) for label in labels)
    times = "12 hours" if by_time else "all times"
    parameters: dict[str, int | bool | str] = {
        "places": "stops",
        "reach": 150,
        "category": "",
        "slices": times,
    }
    return _released("places", parameters, content, trace, area, 2)


def profile_release(*, area: StudyArea = TRIANGLE) -> Released:
    """Return counts of two zones by the hour of the week, in the study area `area`."""
    noise = DiscreteLaplace(Fraction("0.5"), 3)
    whole = zone_averages_release(area=area).content
    assert isinstance(whole, ZoneAverages)
    names = Slicing(PARTS["hours of the week"], "Europe/Amsterdam").names
    counts = np.arange(2 * 168, dtype=np.int64).reshape(2, 168) * 7919 % 401 - 40
    content = ProfileRelease(
        zones=whole.zones,
        keys=names.keys,
        titles=names.titles,
        time_zone="Europe/Amsterdam",
        counts=counts,
        noise=noise,
    )
    trace = (Measured(label="counts by time", epsilon=Fraction("0.5"), noise=noise),)
    return _released("profile", {"zones": "wards"}, content, trace, area, 3)


def contour_release(cells: int = 8, *, area: StudyArea = TRIANGLE) -> Released:
    """Return noisy cells around one hill, with the contour lines that follow from them."""
    grid = Grid.over(area, cells)
    mask = grid.inside(area)
    row, column = np.mgrid[0:cells, 0:cells] / cells - 0.45
    hill = np.round(90 * np.exp(-(row**2 + column**2) / 0.05)).astype(np.int64)
    noise = DiscreteLaplace(Fraction(1, 2), 3)
    content = ContourRelease(
        grid=grid,
        counts=np.where(mask, hill - 2, 0),
        noise=noise,
        surface=np.where(mask, hill.astype(np.float64), 0.0),
        lines=np.array([0.5, 1.0, 2.0]),
    )
    trace = (Measured(label="cell counts", epsilon=Fraction(1, 2), noise=noise),)
    return _released("contours", {"cells": cells}, content, trace, area, 3)


def points_release(*, area: StudyArea = TRIANGLE) -> Released:
    """Return five perturbed points with times, one of which is unknown, and a density."""
    noise = PlanarLaplace(2 * make_level("ln 4", 200).epsilon, 2, 2, 1000)
    grid = Grid.over(area, 8)
    longitude, latitude = area.shape.representative_point().coords[0]
    offsets = np.arange(5)
    content = PointsRelease(
        longitude=(np.rint(longitude * 1e7) + offsets).astype(np.int32),
        latitude=np.full(5, np.rint(latitude * 1e7)).astype(np.int32),
        time=np.array([NO_TIME, 0, 3600, 7200, 10800], dtype=np.int64),
        noise=noise,
        grid=grid,
        density=np.where(grid.inside(area), 5 / np.count_nonzero(grid.inside(area)), 0.0),
        updates=3,
    )
    trace = (Measured(label="reports", epsilon=noise.epsilon, noise=noise),)
    parameters: dict[str, int | bool | str] = {"level": "ln 4", "radius": 200, "time": "hour"}
    return dataclasses.replace(
        _released("planar-laplace", parameters, content, trace, area, 2),
        guarantee=GeoInd(2 * make_level("ln 4", 200).pico, Unit.PERSON),
    )


def locations_release(*, area: StudyArea = TRIANGLE) -> Released:
    """Return counts by block of a grid, two cluster centres, and places of three made-up people."""
    places = Places.of_cells(area, 16)
    paths, unit = places.paths(2)
    longitude, latitude = spread_evenly(area, 2).degrees
    noise = DiscreteLaplace(Fraction(1, 4), 3)
    content = LocationsRelease(
        longitude=places.longitude,
        latitude=places.latitude,
        unit=unit,
        cluster=np.zeros(len(places), dtype=np.int32),
        levels=places.levels[:1],
        unit_paths=paths,
        centre_longitude=longitude,
        centre_latitude=latitude,
        bin_unit=np.arange(len(paths), dtype=np.int32),
        bin_cluster=np.zeros(len(paths), dtype=np.int32),
        counts=np.arange(len(paths), dtype=np.int64) * 7 - 3,
        noise=noise,
        people=3,
        person=np.array([0, 0, 2], dtype=np.int32),
        place=np.array([1, 4, 0], dtype=np.int32),
    )
    trace = (
        Measured(label="records in each unit and cluster", epsilon=noise.epsilon, noise=noise),
        Measured(label="places", epsilon=noise.epsilon, noise=None, choices=True),
    )
    return _released("prilocation", {"people": 3}, content, trace, area, 3)


def examples() -> tuple[Released, ...]:
    """Return one release of every content type, and a further sparse one that lists no cells."""
    return (
        grid_release(),
        slices_release(),
        partition_release(),
        tree_release(),
        phased_release(),
        phased_slices_release(),
        contour_release(),
        points_release(),
        sparse_release(),
        sparse_release(listed=0),
        clusters_release(),
        locations_release(),
        zones_release(),
        zone_averages_release(),
        grid_averages_release(),
        flows_release(),
        flows_release(sparse=True),
        category_slices_release(),
        sliced_averages_release(),
        profile_release(),
        places_release(),
        places_release(by_time=True),
        zone_quartiles_release(),
        grid_quartiles_release(),
        window_release(),
        *map(series_release, Protection),
        trips_release(),
        household_release(),
    )


def window_release() -> Released:
    """Return a release of the rows of one month."""
    released = grid_release()
    return asked_for(released, from_day=date(2026, 1, 1), to_day=date(2026, 1, 31))


def household_release() -> Released:
    """Return a release that protects households of up to four people."""
    released = grid_release()
    return asked_for(released, household=4)


def asked_for(released: Released, **options: object) -> Released:
    """Return a release whose request has these options."""
    request = released.request.model_copy(update=options).model_dump_json()
    about = {**released.about, "request": request, "time_zone": "Europe/Berlin"}
    return dataclasses.replace(released, about=about)


def series_release(protection: Protection) -> Released:
    """Return the second map of a weekly series."""
    released = window_release()
    terms = Terms(
        period=Period.WEEK,
        protection=protection,
        each=1,
        most=20 if protection is Protection.PERSON else 4,
        epsilon=Fraction(1),
    )
    part = Part("5b9c8b1e-6f1e-4c56-9c53-6c3f0b1f6a10", "A city", 2, date(2025, 12, 25), terms)
    return dataclasses.replace(released, about={**released.about, **part.facts()})


def _released(
    mechanism: str,
    parameters: dict[str, int | bool | str],
    content: Content,
    trace: tuple[Measured, ...],
    area: StudyArea,
    bound: int,
) -> Released:
    return Released(
        mechanism=mechanism,
        parameters=parameters,
        software="dpgeo 0.1.0",
        about=ABOUT,
        area=area,
        counting=Counting.PEOPLE,
        bound=bound,
        guarantee=PureDP(sum((line.amount for line in trace), Fraction(0)), Unit.PERSON),
        trace=trace,
        content=content,
    )
