"""Private counts, which only the Meter can read."""

from __future__ import annotations

import copy
import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpgeo
from dpgeo.privacy.counts import PrivateCounts
from dpgeo.privacy.sparse import PrivateSparseCounts
from dpgeo.spatial.cell_runs import CellRuns

SECRET = 987_654_321


@pytest.fixture
def counts() -> PrivateCounts:
    return PrivateCounts(np.array([[SECRET, 1], [2, 3]]), sensitivity=10)


LEAKS: dict[str, Callable[[Any], object]] = {
    "array": np.asarray,
    "copied array": np.array,
    "array of objects": lambda counts: np.asarray(counts, dtype=object),
    "ufunc": lambda counts: np.add(counts, 1),
    "operator": lambda counts: np.ones((2, 2)) + counts,
    "array function": np.sum,
    "concatenate": lambda counts: np.concatenate([counts, counts]),
    "iterate": list,
    "unpack": lambda counts: [*counts],
    "index": lambda counts: counts[0, 0],
    "length": len,
    "truth": bool,
    "contains": lambda counts: SECRET in counts,
    "equal": lambda counts: counts == SECRET,
    "not equal": lambda counts: counts != SECRET,
    "less": lambda counts: counts < SECRET,
    "hash": hash,
    "number": int,
    "add": lambda counts: counts + 1,
    "matrix": lambda counts: counts @ np.ones(2),
    "pickle": pickle.dumps,
    "old pickle": lambda counts: pickle.dumps(counts, protocol=0),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "reduce": lambda counts: counts.__reduce__(),
    "state": lambda counts: counts.__getstate__(),
    "json": json.dumps,
    "bytes": bytes,
    "buffer": memoryview,
    "attributes": vars,
}


@pytest.mark.parametrize("leak", LEAKS.values(), ids=LEAKS.keys())
def test_private_counts_cannot_be_read(
    leak: Callable[[Any], object], counts: PrivateCounts
) -> None:
    with pytest.raises(TypeError) as refusal:
        leak(counts)
    assert str(SECRET) not in str(refusal.value)


@pytest.mark.parametrize("show", [repr, str, format, "{!r:>80}".format, ascii])
def test_private_counts_show_only_public_facts(
    show: Callable[[object], str], counts: PrivateCounts
) -> None:
    assert show(counts).strip() == "PrivateCounts(shape=(2, 2), sensitivity=10)"


def test_their_sensitivity_cannot_be_changed(counts: PrivateCounts) -> None:
    for name in ("_sensitivity", "sensitivity", "_PrivateCounts__values", "note"):
        with pytest.raises(TypeError, match="never changed"):
            setattr(counts, name, 1)
    with pytest.raises(TypeError, match="never changed"):
        del counts._sensitivity
    assert counts.sensitivity == 10


def test_regrouping_adds_up_and_keeps_the_sensitivity(counts: PrivateCounts) -> None:
    region = np.array([[2, 0], [-1, 2]])
    regions = counts.regroup(region, 4)
    assert regions.sensitivity == 10
    assert regions.shape == (4,)
    assert regions._read_by_meter().tolist() == [1, 0, SECRET + 3, 0]


@pytest.mark.parametrize(
    "region",
    [
        np.array([[0, 1], [2, 4]]),
        np.array([0, 1, 2, 3]),
        np.array([[0.0, 1.0], [2.0, 3.0]]),
        np.array([[True, False], [True, True]]),
    ],
)
def test_regrouping_refuses_invalid_labels(
    region: np.ndarray[Any, Any], counts: PrivateCounts
) -> None:
    with pytest.raises(ValueError, match="must label every count"):
        counts.regroup(region, 4)


def test_distinct_counts_change_less_in_squares() -> None:
    values = np.array([[4, 1], [2, 3]])
    distinct = PrivateCounts(values, sensitivity=10, distinct=True)
    assert PrivateCounts(values, sensitivity=10).squared_sensitivity == 100
    assert distinct.squared_sensitivity == distinct.flat().squared_sensitivity == 10
    # All four cells become one region, in which somebody who was in each of them counts four times.
    assert distinct.regroup(np.zeros((2, 2), int), 1).squared_sensitivity == 100
    with pytest.raises(TypeError, match="never changed"):
        distinct._distinct = True


def test_distinct_sparse_counts_stay_so_unless_they_are_added_up() -> None:
    cells = PrivateSparseCounts(
        np.array([2, 7]), np.array([5, 1]), size=9, sensitivity=10, distinct=True
    )
    runs = CellRuns(np.array([0]), np.array([5]))
    assert cells.dense().squared_sensitivity == 10
    assert cells.within(runs).dense().squared_sensitivity == 10
    assert cells.mapped(lambda numbers: numbers // 5, 2).dense().squared_sensitivity == 100
    plain = PrivateSparseCounts(np.array([2, 7]), np.array([5, 1]), size=9, sensitivity=10)
    assert plain.dense().squared_sensitivity == 100


def test_fractional_counts_are_refused() -> None:
    with pytest.raises(TypeError, match="whole numbers"):
        PrivateCounts(np.array([0.5]), sensitivity=1)


@pytest.mark.parametrize("sensitivity", [0, -1])
def test_a_sensitivity_below_one_is_refused(sensitivity: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        PrivateCounts(np.array([1]), sensitivity=sensitivity)


def test_a_fractional_sensitivity_is_refused() -> None:
    with pytest.raises(TypeError):
        PrivateCounts(np.array([1]), sensitivity=1.5)  # type: ignore[arg-type]


def test_only_the_meter_reads_private_counts() -> None:
    package = Path(dpgeo.__file__).parent
    private = {
        *("bound_choice", "counts", "person_records", "positions", "sparse"),
        *("value_shares", "vector_sums"),
    }
    readers = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if re.search(r"_by_meter\b|_Private[A-Z]\w*__|_PrivateSparse", path.read_text())
    }
    assert readers == {f"privacy/{name}.py" for name in private | {"meter"}}
    defining = {
        path.stem
        for path in package.rglob("*.py")
        if re.search(r"def _read_by_meter", path.read_text())
    }
    assert defining == private


def test_selected_counts_keep_both_sensitivities() -> None:
    counts = PrivateCounts(np.arange(6).reshape(2, 3), sensitivity=4, distinct=True)
    kept = np.array([[True, False, True], [False, True, False]])
    chosen = counts.selected(kept)
    assert chosen._read_by_meter().tolist() == [0, 2, 4]
    assert (chosen.sensitivity, chosen.squared_sensitivity) == (4, 4)
    wrongs: list[Any] = [kept[0], kept.astype(np.int64)]
    for wrong in wrongs:
        with pytest.raises(ValueError, match="mask"):
            counts.selected(wrong)
