from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dpgeo.postprocess import kdtree
from dpgeo.postprocess.kdtree import Rule, grow_kdtree
from dpgeo.spatial.boxes import box_image, box_sums, summed_area

VARIANCE = Rule(cell_variance=1.0, total_variance=1.0, suspicion=False)
SUSPICION = Rule(cell_variance=1.0, total_variance=1.0)


def everywhere(cells: NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.ones(cells.shape, dtype=np.bool_)


def laplace(random: np.random.Generator, scale: float, shape: tuple[int, int]) -> NDArray[np.int64]:
    """Return discrete Laplace noise as the difference of two geometric variables.

    It is accurate enough to test trees, but not for releases.
    """
    chance = 1 - np.exp(-1 / scale)
    return random.geometric(chance, shape) - random.geometric(chance, shape)


def laplace_variance(scale: float) -> float:
    ratio = np.exp(-1 / scale)
    return float(2 * ratio / (1 - ratio) ** 2)


def test_box_sums_and_images_agree_with_slices() -> None:
    cells = np.random.default_rng(1).integers(-50, 50, (7, 5))
    boxes = np.array([[0, 3, 0, 5], [3, 7, 0, 2], [3, 7, 2, 3], [5, 7, 3, 5]], dtype=np.int32)

    sums = box_sums(summed_area(cells), boxes)
    image = box_image(boxes, (7, 5))

    assert sums.tolist() == [int(cells[a:b, c:d].sum()) for a, b, c, d in boxes]
    expected = np.full((7, 5), -1)
    for number, (a, b, c, d) in enumerate(boxes):
        expected[a:b, c:d] = number
    np.testing.assert_array_equal(image, expected)


@pytest.mark.parametrize("rule", [VARIANCE, SUSPICION])
@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (8, 1), (13, 21), (64, 64)])
def test_boxes_cover_every_cell_exactly_once(shape: tuple[int, int], rule: Rule) -> None:
    cells = np.random.default_rng(2).poisson(30, shape) ** 2

    boxes = grow_kdtree(cells, everywhere(cells), rule)

    covered = np.zeros(shape, dtype=np.int64)
    for first_row, after_row, first_column, after_column in boxes:
        covered[first_row:after_row, first_column:after_column] += 1
    assert (covered == 1).all()
    assert boxes.dtype == np.int32


def test_it_splits_where_the_squared_deviation_falls_most() -> None:
    cells = np.zeros((6, 8), dtype=np.int64)
    cells[:, 3:] = 40
    cells[4:, 3:] = 90

    boxes = grow_kdtree(cells, everywhere(cells), VARIANCE)

    # An exhaustive search shows that the cut before column 3 is the first cut that leaves the least
    # squared deviation.
    def deviation(first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
        return float(first.size * first.var() + second.size * second.var())

    by_column = {cut: deviation(cells[:, :cut], cells[:, cut:]) for cut in range(1, 8)}
    by_row = {cut: deviation(cells[:cut], cells[cut:]) for cut in range(1, 6)}
    assert min(by_column, key=by_column.__getitem__) == 3
    assert min(by_column.values()) < min(by_row.values())
    assert boxes.tolist() == [[0, 6, 0, 3], [0, 4, 3, 8], [4, 6, 3, 8]]


def test_a_single_crowded_cell_gets_a_box_of_its_own() -> None:
    cells = np.zeros((32, 32), dtype=np.int64)
    cells[11, 20] = 10_000

    for rule, most in ((VARIANCE, 5), (SUSPICION, 12)):
        boxes = grow_kdtree(cells, everywhere(cells), rule)
        assert [11, 12, 20, 21] in boxes.tolist()
        assert len(boxes) <= most


def test_pure_noise_is_seldom_split_on_variance_alone() -> None:
    rule = Rule(
        cell_variance=laplace_variance(20), total_variance=laplace_variance(10), suspicion=False
    )
    random = np.random.default_rng(3)
    splits = 0
    for _ in range(300):
        cells = laplace(random, 20, (64, 64))
        splits += len(grow_kdtree(cells, everywhere(cells), rule)) > 1
    # A map is split if the variance of its cells exceeds that of noise by three standard
    # deviations: on pure noise in about one of 700 maps. Without that allowance, half of the maps
    # would be split.
    assert splits <= 8


def test_a_city_hidden_in_the_noise_of_cells_is_split() -> None:
    """A city that is hidden in the noise of single cells is still split.

    The left half has 5,000 people, but neither single cells nor the variance of the cells stands
    out from the noise.
    """
    cell, total = laplace_variance(40), laplace_variance(15)
    random = np.random.default_rng(4)
    cells = laplace(random, 40, (128, 128))
    cells[:, :64] += random.poisson(5000 / (128 * 64), (128, 64))

    by_variance = grow_kdtree(
        cells, everywhere(cells), Rule(cell_variance=cell, total_variance=total, suspicion=False)
    )
    by_suspicion = grow_kdtree(
        cells, everywhere(cells), Rule(cell_variance=cell, total_variance=total)
    )

    assert len(by_variance) == 1
    assert 8 <= len(by_suspicion) <= 400


def test_a_half_that_noise_made_look_empty_is_still_suspected() -> None:
    """A half that looks empty because of noise is still suspected to hold people.

    The cells of the left half add up to less than 0, and those of the right half are all equal. The
    left half is divided nevertheless.
    """
    cells = np.full((64, 64), 25)
    cells[:, :32] = -3
    rule = Rule(cell_variance=laplace_variance(10), total_variance=laplace_variance(4))

    boxes = grow_kdtree(cells, everywhere(cells), rule)

    assert (boxes[:, 3] <= 32).sum() > 1


def test_every_box_contains_a_cell_inside_the_area() -> None:
    random = np.random.default_rng(5)
    cells = random.poisson(3, (40, 40)) * 100
    rows, columns = np.indices(cells.shape)
    inside = np.abs(rows - columns) < 6

    for rule in (VARIANCE, SUSPICION):
        boxes = grow_kdtree(cells, inside, rule)
        assert len(boxes) > 20
        assert box_sums(summed_area(inside), boxes).min() >= 1


def test_cells_outside_the_area_change_nothing() -> None:
    random = np.random.default_rng(6)
    cells = random.poisson(3, (40, 40)) * 100
    inside = random.random((40, 40)) < 0.7

    boxes = grow_kdtree(cells, inside, SUSPICION)
    others = grow_kdtree(np.where(inside, cells, 10**9), inside, SUSPICION)

    np.testing.assert_array_equal(boxes, others)


def test_an_area_without_a_cell_is_one_box() -> None:
    cells = np.zeros((3, 4), dtype=np.int64)

    assert grow_kdtree(cells, ~everywhere(cells), SUSPICION).tolist() == [[0, 3, 0, 4]]


def test_squares_that_overflow_64_bits_do_not_mislead_it() -> None:
    """Counts whose squares overflow 64 bits do not mislead the tree.

    An even half stays one box, next to cells whose squared counts add up to 9e21.
    """
    cells = np.full((64, 64), 5, dtype=np.int64)
    cells[:, 32:] = 3_000_000_000 * (np.indices((64, 32)).sum(0) % 2)
    assert float((cells.astype(np.float64) ** 2).sum()) > 2.0**63

    boxes = grow_kdtree(cells, everywhere(cells), VARIANCE)

    assert [0, 64, 0, 32] in boxes.tolist()
    assert len(boxes) == 1 + 64 * 32


def test_chunked_evaluation_of_splits_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = np.random.default_rng(7).poisson(3, (50, 70)) ** 3
    whole = grow_kdtree(cells, everywhere(cells), SUSPICION)

    monkeypatch.setattr(kdtree, "CUTS_AT_ONCE", 100)

    np.testing.assert_array_equal(grow_kdtree(cells, everywhere(cells), SUSPICION), whole)
