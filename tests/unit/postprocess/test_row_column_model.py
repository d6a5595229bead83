from __future__ import annotations

import numpy as np
import pytest

from dpgeo.postprocess.node_measurements import NodeMeasurements
from dpgeo.postprocess.partition_choice import even
from dpgeo.postprocess.pyramid import pooled
from dpgeo.postprocess.row_column_model import TRUST, RowColumnModel
from dpgeo.postprocess.surface import infer, smooth

SIDE = 64


@pytest.mark.parametrize("side", [1, 2, 16, 64, 128])
def test_an_even_map_is_unchanged(side: int) -> None:
    fitted = RowColumnModel(np.ones((side, side))).expected(np.full((side, side), 5.0))

    np.testing.assert_allclose(fitted, 5)


def test_a_map_of_independent_rows_and_columns_is_nearly_unchanged() -> None:
    row, column = np.random.default_rng(1).gamma(0.5, 1, (2, SIDE))
    cells = np.outer(row, column)

    fitted = RowColumnModel(np.ones_like(cells)).expected(cells)

    busy = cells > np.quantile(cells, 0.9)
    assert np.corrcoef(fitted[busy], cells[busy])[0, 1] > 0.97
    assert fitted.sum() / cells.sum() == pytest.approx(1, abs=2 * TRUST)


def test_cells_outside_the_area_are_empty_and_have_no_influence() -> None:
    cells = np.full((SIDE, SIDE), 3.0)
    sizes = np.ones_like(cells)
    sizes[:, 40:] = 0
    sizes[7:9, 30:] = 0
    cells *= sizes

    for alone in (False, True):
        fitted = RowColumnModel(sizes, alone=alone).expected(cells)
        np.testing.assert_allclose(fitted, cells, atol=1e-9)


@pytest.mark.parametrize("side", [2, 8, 64])
def test_no_value_influences_its_own_prediction(side: int) -> None:
    random = np.random.default_rng(2)
    cells = random.gamma(1, 1, (side, side))
    other = cells.copy()
    other[1, 0] += 1000

    sizes = np.ones_like(cells)
    lines = RowColumnModel(sizes, alone=True)
    before, after = lines.expected(cells), lines.expected(other)

    assert after[1, 0] == pytest.approx(before[1, 0], rel=1e-6)
    assert after[1, 1] != pytest.approx(before[1, 1], rel=1e-6)


def _surveyed(cells: np.ndarray, seed: int) -> NodeMeasurements:
    """Return noisy counts of blocks of 8 cells and, near one corner, of single cells.

    The noise has scale 20.
    """
    random = np.random.default_rng(seed)
    measurements = NodeMeasurements(np.ones((SIDE, SIDE), dtype=np.bool_))
    blocks = even(measurements, 3)
    fine = [np.zeros_like(chosen) for chosen in blocks]
    fine[3] = blocks[3].copy()
    fine[3][0, 0] = False
    fine[6][:8, :8] = True
    for nodes in (blocks, fine):
        parts = np.concatenate([pooled(cells, len(chosen))[chosen] for chosen in nodes])
        noisy = np.rint(parts + random.laplace(0, 20, parts.size)).astype(np.int64)
        measurements.add(nodes, noisy, 20.0)
    return measurements


def test_counts_at_the_edges_of_a_table_are_spread_along_them() -> None:
    table = np.zeros((SIDE, SIDE))
    table[0, 0] = 20_000
    table[0, 8:] = 20
    table[8:, 0] = 20
    measurements = _surveyed(table, 1)

    surface = infer(measurements)
    cells = smooth(measurements, surface)

    assert surface.crossed
    assert cells[0, 8:].sum() > 0.7 * cells[:8, 8:].sum()
    assert cells[8:, 0].sum() > 0.7 * cells[8:, :8].sum()


@pytest.mark.parametrize("seed", range(4))
def test_crowds_and_even_maps_use_the_neighbour_model(seed: int) -> None:
    row, column = np.mgrid[0:SIDE, 0:SIDE]
    hill = 300 * np.exp(-((row - 20) ** 2 + (column - 30) ** 2) / 200)

    assert not infer(_surveyed(np.floor(hill), seed)).crossed
    assert not infer(_surveyed(np.full((SIDE, SIDE), 5.0), seed)).crossed
