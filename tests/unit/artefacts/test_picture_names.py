"""Names of the largest places on a release's pictures."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from dpgeo.artefacts import card, preview
from dpgeo.artefacts.picture_names import INK, NAMES
from dpgeo.artefacts.view import View
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import layers
from dpgeo.spatial.area import StudyArea
from tests.unit.artefacts.releases import grid_release

AREA = StudyArea.from_bounds(0, 0, 1, 1)

Writer = Callable[[Released, View, Path], None]


def drawn(write: Writer, folder: Path, places: list[Any]) -> NDArray[np.int16]:
    """Return a picture of a release that stores the given places."""
    released = grid_release(8, area=AREA)
    stored = json.dumps({"places": places, "sources": ["GeoNames"]})
    about = {**released.about, **({NAMES: stored} if places else {})}
    path = folder / "picture.png"
    write(replace(released, about=about), View.opening(layers(released)), path)
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB")).astype(np.int16)


@pytest.mark.parametrize("write", [preview.write, card.write])
def test_the_largest_places_are_named_and_their_source_is_told(
    write: Writer, tmp_path: Path
) -> None:
    bare = drawn(write, tmp_path, [])
    named = drawn(write, tmp_path, [["Oddtown", 0.5, 0.5], ["Overlapped", 0.505, 0.5]])
    alone = drawn(write, tmp_path, [["Oddtown", 0.5, 0.5]])
    changed = (named != bare).any(axis=2)
    assert (named[changed] == INK).all(axis=1).sum() > 50
    # A name that would overlap a more important one is left out, so nothing is drawn for it.
    np.testing.assert_array_equal(named, alone)
    down, across = np.nonzero(changed)
    assert across.max() > named.shape[1] - 60
    assert np.ptp(down) > 100


def test_names_that_the_font_cannot_draw_are_left_out(tmp_path: Path) -> None:
    bare = drawn(preview.write, tmp_path, [])
    np.testing.assert_array_equal(bare, drawn(preview.write, tmp_path, [["東京", 0.5, 0.5]]))
    assert (bare != drawn(preview.write, tmp_path, [["Łódź", 0.5, 0.5]])).any()
