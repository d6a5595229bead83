"""Prepared shapes, which threads must not share."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import shapely

from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.prepared import prepared, prepared_copies

ROOT = Path(__file__).parents[3]

AT_ONCE = """
import sys
from threading import Barrier, Thread
import numpy as np
import shapely
from dpgeo.spatial.area import StudyArea

sys.setswitchinterval(1e-5)
angle = np.linspace(0, 2 * np.pi, 20_000)
radius = 1 + 0.2 * np.sin(50 * angle)
corners = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
places = np.random.default_rng(1).uniform(-1, 1, (2, 200))
for _ in range(16):
    area, together, found = StudyArea(shapely.polygons(corners)), Barrier(4), []

    def ask():
        together.wait()
        found.append(area.covers(*places).sum())

    threads = [Thread(target=ask) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(found) == 4 and len(set(found)) == 1
"""


def test_threads_that_ask_one_new_area_at_once_crash_nothing() -> None:
    """Without copies, threads that share a prepared shape would crash the process in most runs."""
    subprocess.run([sys.executable, "-c", AT_ONCE], check=True, cwd=ROOT)


def test_a_shape_is_prepared_only_as_a_copy() -> None:
    shape = shapely.Point(9.5, 47.1).buffer(1)
    copy = prepared(shape)
    assert shapely.is_prepared(copy)
    assert not shapely.is_prepared(shape)
    assert shapely.equals_identical(copy, shape)
    assert prepared(shape) is copy
    StudyArea(shape).covers([9.5], [47.1])
    assert not shapely.is_prepared(shape)


def test_shapes_of_an_array_are_copied_too() -> None:
    shapes = np.array([shapely.box(0, 0, 1, 1), shapely.box(2, 2, 3, 3)])
    copies = prepared_copies(shapes)
    assert shapely.is_prepared(copies).all()
    assert not shapely.is_prepared(shapes).any()
