from __future__ import annotations

import numpy as np
import pytest

from dpgeo.postprocess.row_column_model import TRUST, RowColumnModel

SIDE = 64


def test_a_map_of_independent_rows_and_columns_is_nearly_unchanged() -> None:
    row, column = np.random.default_rng(1).gamma(0.5, 1, (2, SIDE))
    cells = np.outer(row, column)

    fitted = RowColumnModel(np.ones_like(cells)).expected(cells)

    busy = cells > np.quantile(cells, 0.9)
    assert np.corrcoef(fitted[busy], cells[busy])[0, 1] > 0.97
    assert fitted.sum() / cells.sum() == pytest.approx(1, abs=2 * TRUST)


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
