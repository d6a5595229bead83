from __future__ import annotations

import numpy as np
import pytest

from benchmarks.generated import KINDS, generated


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_generated_maps_are_repeatable_probabilities(kind: str, seed: int) -> None:
    map_of_kind = generated(kind, 64, seed)

    assert map_of_kind.shape == (64, 64)
    assert (map_of_kind >= 0).all()
    assert map_of_kind.sum() == pytest.approx(1)
    np.testing.assert_array_equal(map_of_kind, generated(kind, 64, seed))
