"""DAWA by its authors' package, whose estimate loses its fractions in the end."""

from __future__ import annotations

from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks import dawa
from benchmarks.evaluation.ranges import random_boxes

COUNTS = np.arange(9).reshape(3, 3)


class Engine:
    """A stand-in for `dawa2D_engine`: it has one bucket, no noise, and casts to whole numbers."""

    @staticmethod
    def _rebuild(partition: Any, counts: Any, cells: int) -> Any:
        [(first, last)] = partition
        return np.full(cells, counts[0] / (last + 1 - first))

    def Run(self, workload: Any, counts: Any, epsilon: float, seed: int) -> Any:  # noqa: N802
        assert counts.dtype == np.int32
        assert (epsilon, seed) == (0.1, 7)
        asked = [query.asArray([4, 4]).sum() for query in workload.query_list]
        top, bottom, left, right = random_boxes(3).T
        assert asked == ((bottom - top) * (right - left)).tolist()
        return self._rebuild([(0, 15)], [counts.sum()], 16).reshape(4, 4).astype(np.int32)


def curve(side: int) -> tuple[Any, Any]:
    rows, columns = np.indices((side, side)).reshape(2, -1)
    return rows, columns


def test_the_estimate_keeps_the_fractions_that_the_package_cuts_off() -> None:
    package = SimpleNamespace(dawa2D_engine=Engine, hilbert=curve)
    estimate = dawa.estimated(package, COUNTS, random_boxes(3), 0.1, 7)
    assert estimate.shape == (3, 3)
    assert estimate == pytest.approx(36 / 16)


@pytest.mark.skipif(find_spec("dpcomp_core") is not None, reason="dpcomp_core is here")
def test_without_the_package_it_says_where_to_get_it() -> None:
    with pytest.raises(ImportError, match=r"benchmarks/dawa\.py"):
        dawa.authors_dawa()
