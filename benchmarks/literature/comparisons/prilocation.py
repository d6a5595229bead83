"""Distance errors of PriLocation, of plain Laplace noise and of k-anonymity, in a city of 16 km.

The data are 200 people with 16 records each around their own homes, and 32 x 32 places. If a file
is given, it is Parquet with columns user, lon and lat; places are its column poi or, without one,
64 x 64 cells. Errors are shares of the largest distance of two places, and means over people. For
`de`, the sum of the distances by which places move is divided by the number of published places
(the equation of Zhu et al. 2017), for `de_true` by the number of true records (their text).
`honest` is the distance of every drawn place, fakes included, from the nearest true place of its
virtual user (see `benchmarks.prilocation`); for the other methods, which publish no fakes, it
equals `de`. `fakes` is the number of fakes for each virtual user. Epsilon is for one record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks import prilocation
from benchmarks.generated import generated
from benchmarks.literature.comparisons.own import MAP_SEED
from benchmarks.literature.locations import k_anonymous
from benchmarks.literature.trials import Line, Options, line
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.centres import Centres, ground_metres
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.places import Places, diameter

Floats = NDArray[np.float64]

SIDE_DEGREES = 0.144
CELLS, PLACES = 64, 32
PEOPLE, RECORDS = 200, 16
SPREAD = 0.01
"""Standard deviation of a person's records around a home, in degrees."""


def compare(options: Options) -> Iterator[Line]:
    """Yield a line of output for each method: its mean errors over the trials (`trials.line`)."""
    records = _invented() if options.file is None else _read(options.file)
    wide = diameter(records.places.positions)

    def errors(moved: Centres) -> Mapping[str, float]:
        away = ground_metres(records.at, moved) / wide
        error = prilocation.mean_of_persons(records.persons, away, records.people)
        return {"de": error, "de_true": error, "honest": error}

    def crowded(crowd: int, random: Generator) -> Mapping[str, float]:
        return errors(Centres(*k_anonymous(records.at.x, records.at.y, records.persons, crowd)))

    def plain(random: Generator) -> Mapping[str, float]:
        seed = int(random.integers(1 << 32))
        return errors(prilocation.plain(records, options.budget, seed))

    def own(clusters: int, random: Generator) -> Mapping[str, float]:
        seed = int(random.integers(1 << 32))
        found = prilocation.prilocation(records, options.epsilon, clusters, seed, wide)
        return {
            "de": float(found["de"]),
            "de_true": float(found["de_true"]),
            "honest": float(found["de_honest"]),
            "fakes": float(found["fakes_per_person"]),
        }

    for crowd in prilocation.CROWDS:
        name = f"k-anonymity, k = {crowd}"
        yield line(name, "LeFevre et al. 2006", partial(crowded, crowd), options, "none")
    yield line("plain Laplace", "Zhu et al. 2017", plain, options, "eps a record")
    for clusters in prilocation.CLUSTERS:
        name = f"dpgeo, PriLocation, {clusters} clusters"
        yield line(name, "Xiong et al. 2014", partial(own, clusters), options, "eps a record")


def _read(file: Path) -> prilocation.Records:
    import pyarrow.parquet as pq

    venues = "poi" in pq.read_schema(file).names
    return prilocation.read(file, cells=0 if venues else CELLS)


def _invented() -> prilocation.Records:
    random = np.random.default_rng(MAP_SEED)
    area = StudyArea.from_bounds(0.0, 0.0, SIDE_DEGREES, SIDE_DEGREES)
    chances = generated("city", CELLS, MAP_SEED).ravel()
    row, column = np.divmod(random.choice(chances.size, PEOPLE, p=chances), CELLS)
    home = (np.stack([column, row]) + random.random((2, PEOPLE))) * SIDE_DEGREES / CELLS
    persons = np.repeat(np.arange(PEOPLE), RECORDS)
    at = home[:, persons] + random.normal(0, SPREAD, (2, persons.size))
    lon, lat = np.clip(at, 1e-6, SIDE_DEGREES - 1e-6)
    places, grid = Places.of_cells(area, PLACES), Grid.over(area, prilocation.LATTICE)
    centres = Centres.from_degrees(lon, lat)
    place = places.nearest_to_cells(grid)(grid.locate(centres.x, centres.y))
    return prilocation.Records(persons, PEOPLE, centres, places, place, area)
