from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dpgeo.postprocess.node_measurements import NodeMeasurements
from dpgeo.postprocess.partition_choice import boxes, even, where_expected
from dpgeo.postprocess.pyramid import depth, expanded, neighbours, padded, pooled
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


@pytest.mark.parametrize(("shape", "levels"), [((1, 1), 0), ((2, 2), 1), ((5, 5), 3), ((8, 8), 3)])
def test_a_grid_is_padded_to_the_smallest_enclosing_square(
    shape: tuple[int, int], levels: int
) -> None:
    square = padded(np.ones(shape))

    assert depth(shape) == levels
    assert square.shape == (1 << levels, 1 << levels)
    assert square.sum() == shape[0] * shape[1]


def test_pooling_and_expanding_preserve_sums_and_places() -> None:
    cells = np.arange(16.0).reshape(4, 4)

    assert pooled(cells, 2).tolist() == [[10, 18], [42, 50]]
    assert pooled(cells, 4) is cells
    assert pooled(expanded(cells, 8), 4).tolist() == (4 * cells).tolist()


def test_side_neighbours_weigh_twice_as_much_as_corner_neighbours() -> None:
    cells = np.zeros((3, 3))
    cells[1, 1] = 12

    assert neighbours(cells).tolist() == [[1, 2, 1], [2, 0, 2], [1, 2, 1]]


def test_counts_of_one_node_are_combined_by_inverse_variances() -> None:
    measurements = NodeMeasurements(np.ones((1, 1), dtype=np.bool_))
    measurements.add(even(measurements, 0), np.array([10]), 1.0)
    measurements.add(even(measurements, 0), np.array([20]), 2.0)

    assert measurements.value[0].item() == pytest.approx((10 * 4 + 20) / 5)
    assert measurements.scales()[0].item() == pytest.approx((1 / (1 + 1 / 4)) ** 0.5)


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


def test_boxes_are_cut_to_the_grid() -> None:
    measurements = NodeMeasurements(padded(np.ones((5, 5), dtype=np.bool_)))

    cut = boxes(even(measurements, 1), (5, 5))

    assert cut.tolist() == [[0, 4, 0, 4], [0, 4, 4, 5], [4, 5, 0, 4], [4, 5, 4, 5]]


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


def test_smoothing_keeps_the_count_of_every_leaf() -> None:
    measurements = surveyed(hill(), everywhere(), 20.0)
    flat = infer(measurements)

    bent = smooth(measurements, flat)

    for level, chosen in enumerate(measurements.leaves()):
        np.testing.assert_allclose(
            pooled(bent, 1 << level)[chosen], pooled(flat.cells, 1 << level)[chosen], atol=1e-6
        )
    assert not np.allclose(bent, flat.cells)


def test_a_map_of_pure_noise_becomes_almost_empty() -> None:
    left = []
    for seed in range(10):
        measurements = surveyed(np.zeros((SIDE, SIDE)), everywhere(), 20.0, seed)
        left.append(quiet(measurements, infer(measurements)).cells.sum())
    assert np.median(left) < 20


def test_without_noise_the_surface_is_the_truth() -> None:
    measurements = NodeMeasurements(everywhere())
    measurements.add(even(measurements, 5), hill().astype(np.int64).ravel(), 1e-3)

    surface = smooth(measurements, quiet(measurements, infer(measurements)))

    np.testing.assert_allclose(surface, hill(), atol=0.01)
