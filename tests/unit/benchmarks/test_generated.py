from __future__ import annotations

import numpy as np
import pytest

from benchmarks.generated import KINDS, generated


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_generated_maps_are_repeatable_probabilities(kind: str, seed: int) -> None:
    found = generated(kind, 64, seed)

    assert found.shape == (64, 64)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(1)
    np.testing.assert_array_equal(found, generated(kind, 64, seed))
