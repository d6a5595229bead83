"""The file map.bin: what the map page needs, with values rounded to less than the noise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpgeo.artefacts import map_array
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import box_layers, quantisation_step
from dpgeo.spatial.grid import Grid
from tests.unit.artefacts.releases import (
    grid_release,
    partition_release,
    sparse_release,
    tree_release,
)


class Reader:
    """A reader for map.bin that follows the format's description, as the map page does."""

    def __init__(self, content: bytes) -> None:
        assert content[:4] == b"DPGM"
        version, length = np.frombuffer(content, "<u4", 2, 4).tolist()
        assert version == 1
        assert (12 + length) % 8 == 0
        self.header: dict[str, Any] = json.loads(content[12 : 12 + length])
        self._data = content[12 + length :]

    def array(self, reference: dict[str, Any]) -> NDArray[Any]:
        dtype = np.dtype(reference["type"]).newbyteorder("<")
        assert reference["offset"] % dtype.itemsize == 0
        return np.frombuffer(self._data, dtype, reference["length"], reference["offset"])


def read(released: Released, folder: Path) -> Reader:
    map_array.write(released, box_layers(released), folder / "map.bin")
    return Reader((folder / "map.bin").read_bytes())


@pytest.mark.parametrize(
    "released",
    [
        grid_release(16),
        partition_release(16),
        partition_release(16, answers="uniform"),
        tree_release(16),
        sparse_release(16),
        sparse_release(16, listed=0),
    ],
)
def test_values_are_within_half_a_step_of_a_quarter_of_the_noise(
    released: Released, tmp_path: Path
) -> None:
    reader = read(released, tmp_path)
    assert Grid.from_json(reader.header["grid"]) == box_layers(released)[0].grid
    for layer, entry in zip(box_layers(released), reader.header["layers"], strict=True):
        assert entry["step"] == quantisation_step(layer)
        stored = reader.array(entry["value"])
        assert len(stored) == entry["length"]
        if entry["shape"] == "cells":
            stored = stored.reshape(layer.grid.shape)[layer.boxes[:, 0], layer.boxes[:, 2]]
        assert (np.abs(stored * entry["step"] - layer.value) <= entry["step"] / 2).all()
        assert (entry["name"], entry["kind"]) == (layer.name, layer.kind)


def test_each_cell_carries_its_own_margin(tmp_path: Path) -> None:
    released = partition_release(16)
    reader = read(released, tmp_path)
    layer, entry = box_layers(released)[1], reader.header["layers"][1]
    index = reader.array(entry["noise_index"]).reshape(layer.grid.shape)
    place = layer.boxes[:, 0], layer.boxes[:, 2]
    margins = np.array([noise["margin"] for noise in entry["noise"]])
    thresholds = np.array([noise["threshold"] for noise in entry["noise"]])
    np.testing.assert_array_equal(margins[index[place]], layer.margin)
    np.testing.assert_array_equal(thresholds[index[place]], layer.threshold)
    assert {noise["label"] for noise in entry["noise"]} == {"nominal"}


def test_boxes_and_their_sizes_are_listed(tmp_path: Path) -> None:
    released = partition_release(16)
    reader = read(released, tmp_path)
    layer, entry = box_layers(released)[0], reader.header["layers"][0]
    assert entry["shape"] == "boxes"
    assert reader.array(entry["box"]).reshape(-1, 4).tolist() == layer.boxes.tolist()
    assert reader.array(entry["cells"]).tolist() == layer.cells.tolist()
    assert entry["noise_index"] is None


def test_the_mask_says_which_cells_touch_the_area(tmp_path: Path) -> None:
    released = grid_release(16)
    reader = read(released, tmp_path)
    inside = box_layers(released)[0].grid.inside(released.area)
    assert not inside.all()
    assert reader.array(reader.header["inside"]).tolist() == inside.ravel().tolist()


def test_more_kinds_of_noise_than_fit_are_never_understated() -> None:
    margin = np.random.default_rng(4).uniform(1, 9, 1000)
    noise, index = map_array._noises(margin, margin * 2, "nominal")
    shown = np.array([[each["margin"], each["threshold"]] for each in noise])[index]
    assert len(noise) == 256
    assert (shown[:, 0] >= margin).all()
    assert (shown[:, 1] >= margin * 2).all()
    assert (shown[:, 0] <= margin * 1.2).all()
