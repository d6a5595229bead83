"""Declared public densities: read from a file, clipped to an area, converted to a grid."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpgeo.artefacts.files import build_files
from dpgeo.core.released import GridRelease
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.density import Density
from dpgeo.spatial.grid import Grid
from tests.unit.artefacts.releases import grid_release

AREA = StudyArea.from_bounds(10.0, 50.0, 10.2, 50.1)

BOXES = [
    (9.9, 50.0, 10.1, 50.1, 8),
    (10.1, 50.0, 10.2, 50.1, 2.5),
    (10.15, 50.05, 10.1501, 50.0501, 7),
]


def document(boxes: list[Any] = BOXES, name: str = "Population") -> dict[str, Any]:
    return {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "properties": {name: amount},
                "geometry": {
                    "type": "Polygon",
                    "coordinates": [[[w, s], [e, s], [e, n], [w, n], [w, s]]],
                },
            }
            for w, s, e, n, amount in boxes
        ],
    }


@pytest.mark.parametrize("cells", [1, 7, 64])
def test_areas_smaller_than_a_cell_keep_their_people_on_the_grid(cells: int) -> None:
    within = Density.from_geojson(document()).within(AREA)
    laid = within.on(Grid.over(AREA, cells))
    assert laid.sum() == pytest.approx(13.5)
    assert (laid >= 0).all()


def test_a_file_of_a_release_is_a_density(tmp_path: Path) -> None:
    """A release's file can be read as a density; noisy counts below 0 become 0."""
    made = grid_release()
    assert isinstance(made.content, GridRelease)
    content = dataclasses.replace(made.content, counts=made.content.counts - 150)
    released = dataclasses.replace(made, content=content)
    build_files(released, tmp_path)
    read = Density.from_geojson(json.loads((tmp_path / "cells.geojson").read_text()))
    assert (read.amounts < 0).any()
    inside = content.grid.inside(released.area)
    expected = np.where(inside, np.maximum(content.counts, 0), 0)
    assert read.on(content.grid) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("given", "key", "words"),
    [
        (document([]), "", "no features"),
        (document(name="souls"), "", "say which property"),
        (document(), "souls", "no number in its property 'souls'"),
        (document([(*BOXES[0][:4], "many")]), "", "no number in its property 'Population'"),
        (document([(*BOXES[0][:4], True)]), "", "no number in its property 'Population'"),
        (document([(*BOXES[0][:4], float("inf"))]), "", "no number in its property"),
        (document([(*BOXES[0][:4], 0)]), "", "No area has a number above 0"),
    ],
)
def test_errors_name_the_fault_of_a_density(given: dict[str, Any], key: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Density.from_geojson(given, key=key)
