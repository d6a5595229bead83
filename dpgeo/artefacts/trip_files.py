"""Files of made-up trips, for tools that read lines, tracks or points.

`trips-made-up.parquet` has a line for each trip, `.gpx` a track, and `.csv` a row for each point,
in the order of the trips. All of them say that the trips are made up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.artefacts import csv, geoparquet
from dpgeo.artefacts.formats import LayerFormat
from dpgeo.core.released import Released
from dpgeo.phrases import translatable
from dpgeo.postprocess.layers import NO_MARGIN, Layer, PointLayer, ShapeLayer
from dpgeo.postprocess.made_up_trips import MadeUpTrips, makes_trips, read_trips

NAME = "trips-made-up"
TITLE = "Made-up trips: nobody made these trips"
USE = translatable("made-up trips: nobody made them")

RULE = (
    "Made up; nobody made these trips. The files {name}.* contain trips that are a function of the "
    "tables of starts and ends, moves and numbers of moves, for tools that read trips: a start and "
    "an end are drawn, then a number of moves, then a way of that many moves from one to the "
    "other. Each point lies anywhere in its square, at a place that follows from this release "
    "alone. Where there are many trips, one stands for several; stands_for says for how many."
)


def rule(released: Released) -> list[str]:
    """Return a list with the sentence on how trips are made up; it is empty if there are none."""
    return [RULE.format(name=NAME)] if makes_trips(released.content) else []


def lines_layer(released: Released) -> ShapeLayer:
    """Return the made-up trips of a release as lines; call it only if there are trips."""
    trips = _trips(released)
    return ShapeLayer(
        name=NAME,
        title=TITLE,
        kind="inferred",
        shapes=trips.lines(),
        margin_label=NO_MARGIN,
        note=RULE.format(name=NAME),
        columns={
            "trip": np.arange(1, len(trips) + 1),
            "moves": np.diff(trips.start) - 1,
            **_facts(trips, len(trips)),
        },
    )


def points_layer(released: Released) -> PointLayer:
    """Return the points of the made-up trips of a release, trip by trip."""
    trips = _trips(released)
    trip = trips.trip
    return PointLayer(
        name=NAME,
        title=TITLE,
        kind="inferred",
        margin_label=NO_MARGIN,
        note=RULE.format(name=NAME),
        columns={
            "trip": trip + 1,
            "point": np.arange(trip.size) - trips.start[trip] + 1,
            **_facts(trips, trip.size),
        },
        longitude=trips.longitude,
        latitude=trips.latitude,
    )


def _trips(released: Released) -> MadeUpTrips:
    trips = read_trips(released.content, released.area)
    if trips is None:
        raise TypeError("There are no trips in this release.")
    return trips


def _facts(trips: MadeUpTrips, size: int) -> dict[str, NDArray[Any]]:
    return {
        "stands_for": np.full(size, round(trips.stands_for, 6)),
        "made_up": np.ones(size, dtype=np.bool_),
    }


def write_gpx(released: Released, layer: Layer, path: Path) -> None:
    """Write lines as the tracks of a GPX 1.1 file."""
    if not isinstance(layer, ShapeLayer):
        raise TypeError("Tracks are made of lines.")
    title = escape(f"{released.about.get('title', '')}: {TITLE}")
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            '<gpx version="1.1" creator="dpgeo" xmlns="http://www.topografix.com/GPX/1/1">\n'
            f"<metadata><name>{title}</name><desc>{escape(layer.note)}</desc></metadata>\n"
        )
        for number, line in enumerate(layer.shapes.tolist(), start=1):
            points = "".join(
                f'<trkpt lat="{lat:.7f}" lon="{lon:.7f}"/>'
                for lon, lat in shapely.get_coordinates(line).tolist()
            )
            file.write(f"<trk><name>Made-up trip {number}</name><trkseg>{points}</trkseg></trk>\n")
        file.write("</gpx>\n")


GPX = LayerFormat(
    suffix=".gpx",
    media_type="application/gpx+xml",
    title="GPX",
    use="tracks, for navigation and sports",
    write=write_gpx,
)


@dataclass(frozen=True, slots=True)
class TripFile:
    """A file of made-up trips: its format, and the function that returns the layer it contains."""

    format: LayerFormat
    layer: Callable[[Released], Layer]


FILES = (
    TripFile(geoparquet.FORMAT, lines_layer),
    TripFile(GPX, lines_layer),
    TripFile(csv.FORMAT, points_layer),
)
