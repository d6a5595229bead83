"""DAWA (Li, Hay and Miklau 2014) as its authors wrote it, in their package dpcomp_core.

The package is not on PyPI and has no licence, so nothing of it is copied here. To compare with it,
clone https://github.com/dpcomp-org/dpcomp_core, compile `dpcomp_core/algorithm/dawa` there with
`python setup.py build_ext -b ./cutils/ --swig-cpp` (SWIG 4.0, numpy and future are needed), and put
the clone on PYTHONPATH.

`dawa2D_engine` casts its estimate to int32. Where a bucket of many cells holds few records, all of
them are lost: 16,384 cells of 0.9 become 0. So the estimate is taken here before that cast. (On
nearly empty maps the cast removes noise and errs less; `docs/mechanisms/accuracy.md` has both.)
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Box:
    """A query for the number of records in a box, as dpcomp_core asks for it."""

    edges: Sequence[int]

    def asArray(self, shape: Sequence[int]) -> Floats:  # noqa: N802 - a name of dpcomp_core
        """Return the weight of each cell, 1 within the box and 0 elsewhere."""
        weights = np.zeros(tuple(shape))
        top, bottom, left, right = self.edges
        weights[top:bottom, left:right] = 1
        return weights


@dataclass(frozen=True, slots=True)
class Workload:
    """The queries that DAWA adapts to."""

    query_list: Sequence[Box]


def authors_dawa() -> ModuleType:
    """Return the module dpcomp_core.algorithm.dawa. Raises ImportError if it is not installed.

    Its parent package imports all mechanisms, most of which need further compiled libraries, so the
    parent is replaced by an empty one at the same place.
    """
    parent = "dpcomp_core.algorithm"
    spec = find_spec(parent) if find_spec("dpcomp_core") else None
    if spec is None:
        raise ImportError("dpcomp_core is not on PYTHONPATH; benchmarks/dawa.py says how to get it")
    empty = ModuleSpec(parent, None, is_package=True)
    empty.submodule_search_locations = spec.submodule_search_locations
    sys.modules.setdefault(parent, module_from_spec(empty))
    return importlib.import_module(f"{parent}.dawa")


def estimated(
    package: Any, counts: NDArray[np.int64], boxes: NDArray[np.int64], epsilon: float, seed: int
) -> Floats:
    """Return DAWA's estimate (cells, cells) with its fractions.

    `package` is the module of the authors, `counts` (cells, cells) the true counts, and `boxes`
    (n, 4) the workload: first row, row after the last, first column and column after the last.
    """
    engine = package.dawa2D_engine()
    along_curve: list[Floats] = []
    rebuild = engine._rebuild

    def record(*parts: Any) -> Floats:
        along_curve.append(rebuild(*parts))
        return along_curve[-1]

    engine._rebuild = record
    workload = Workload([Box(edges) for edges in boxes.tolist()])
    engine.Run(workload, counts.astype(np.int32), epsilon, seed)
    side = 1 << (len(counts) - 1).bit_length()
    estimate = np.zeros((side, side))
    estimate[package.hilbert(side)] = along_curve[-1]
    return estimate[: len(counts), : len(counts)]
