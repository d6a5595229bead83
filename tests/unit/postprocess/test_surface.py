from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpgeo.postprocess.node_measurements import NodeMeasurements
from dpgeo.postprocess.partition_choice import boxes, even, where_expected
from dpgeo.postprocess.pyramid import expanded, pooled
from dpgeo.postprocess.surface import infer, quiet, smooth

SIDE = 32


def hill() -> NDArray[np.float64]:
    row, column = np.mgrid[0:SIDE, 0:SIDE]
    distance = (row - 9) ** 2 + (column - 20) ** 2
    return np.asarray(np.floor(50 * np.exp(-distance / 20)))


def everywhere() -> NDArray[np.bool_]:
    return np.ones((SIDE, SIDE), dtype=np.bool_)


def surveyed(
    cells: NDArray[np.float64], inside: NDArray[np.bool_], scale: float, seed: int = 1
) -> NodeMeasurements:
    """Return noisy counts of an even grid, and of quadtree nodes chosen from the former."""
    random = np.random.default_rng(seed)
    measurements = NodeMeasurements(inside)
    for phase in (0, 1):
        nodes = (
            where_expected(measurements, infer(measurements).cells, 4 * scale)
            if phase
            else even(measurements, 3)
        )
        parts = [pooled(cells, len(chosen))[chosen] for chosen in nodes]
        counts = np.concatenate(parts) + random.laplace(0, scale, sum(map(len, parts)))
        measurements.add(nodes, np.rint(counts).astype(np.int64), scale)
    return measurements


def test_the_tree_is_the_least_squares_solution() -> None:
    measurements = NodeMeasurements(np.ones((2, 2), dtype=np.bool_))
    measurements.add(even(measurements, 0), np.array([20]), 1.0)
    measurements.add(even(measurements, 1), np.array([1, 2, 3, 4]), 2.0)

    solution = measurements.raw_tree(measurements.leaves())

    design = np.array([[1, 1, 1, 1], *np.eye(4)]) / np.array([[1], [2], [2], [2], [2]])
    seen = np.array([20, 0.5, 1, 1.5, 2])
    np.testing.assert_allclose(solution.value[1].ravel(), np.linalg.lstsq(design, seen)[0])
    np.testing.assert_allclose(solution.value[0], solution.value[1].sum())


def test_partitions_are_small_where_much_is_expected_and_cover_the_study_area_once() -> None:
    inside = everywhere()
    inside[:, 25:] = False
    measurements = NodeMeasurements(inside)

    nodes = where_expected(measurements, hill() * inside, 30.0)

    covered = np.sum([expanded(chosen.astype(np.int64), SIDE) for chosen in nodes], axis=0)
    assert (covered[inside] == 1).all()
    assert covered.max() == 1
    for chosen in nodes[:-1]:
        assert (pooled(hill() * inside, len(chosen))[chosen] <= 30).all()
    assert len(boxes(nodes, (SIDE, SIDE))) == sum(int(chosen.sum()) for chosen in nodes)


def test_the_surface_is_nearer_the_truth_than_the_counts_it_came_from() -> None:
    inside, truth = everywhere(), hill()
    better = []
    for seed in range(5):
        measurements = surveyed(truth, inside, 20.0, seed)
        surface = smooth(measurements, quiet(measurements, infer(measurements)))
        leaves = measurements.leaves()
        raw = measurements.spread(leaves, measurements.raw_tree(leaves).value)
        better.append(np.abs(surface - truth).sum() / np.abs(raw - truth).sum())
    assert np.mean(better) < 0.6


def test_the_surface_is_never_negative_and_is_empty_outside() -> None:
    inside = everywhere()
    inside[20:, :] = False
    measurements = surveyed(hill() * inside, inside, 20.0)

    surface = smooth(measurements, quiet(measurements, infer(measurements)))

    assert (surface >= 0).all()
    assert not surface[~inside].any()
    assert abs(surface.sum() / (hill() * inside).sum() - 1) < 0.1
