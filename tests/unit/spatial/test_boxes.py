from __future__ import annotations

import numpy as np
import pytest

from dpgeo.spatial.boxes import box_image, summed_area, tiles


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (8, 8), (13, 6)])
def test_repeated_halving_gives_single_cells_that_cover_the_area_once(
    shape: tuple[int, int],
) -> None:
    inside = np.random.default_rng(5).random(shape) < 0.6
    inside[0, 0] = True
    boxes = np.array([[0, shape[0], 0, shape[1]]], dtype=np.int32)
    for _ in range(4):
        boxes, parent = tiles(boxes, 2, summed_area(inside))
        assert (np.diff(parent) >= 0).all()

    assert {tuple(box) for box in boxes[:, 1::2] - boxes[:, ::2]} == {(1, 1)}
    assert len(boxes) == inside.sum()
    assert inside[boxes[:, 0], boxes[:, 2]].all()


def test_tiles_of_a_box_are_disjoint_cover_it_and_differ_by_one_cell_at_most() -> None:
    boxes = np.array([[0, 7, 0, 20], [7, 20, 0, 20]])
    parts = np.array([3, 50])

    parts_made, box = tiles(boxes, parts, summed_area(np.ones((20, 20))))

    assert np.bincount(box).tolist() == [9, 13 * 20]
    image = box_image(parts_made, (20, 20))
    assert sorted(set(image.ravel().tolist())) == list(range(len(parts_made)))
    assert (box[image[:7]] == 0).all()
    assert (box[image[7:]] == 1).all()
    assert set((parts_made[:9, 1] - parts_made[:9, 0]).tolist()) == {2, 3}
    assert set((parts_made[:9, 3] - parts_made[:9, 2]).tolist()) == {6, 7}
