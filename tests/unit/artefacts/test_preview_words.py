"""Margins of error stated in preview captions, which use the same unit as the map."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from dpgeo.artefacts.picture_names import INK
from dpgeo.artefacts.preview import (
    MAP_HEIGHT,
    WIDTH,
    draw_map,
    margin_words,
    position,
    radii,
    source_words,
)
from dpgeo.artefacts.view import LARGEST, SMALLEST, views
from dpgeo.postprocess.layers import layers
from tests.unit.artefacts.releases import clusters_release, grid_release, partition_release


def test_a_map_of_squares_states_its_margin_per_square_of_the_legend() -> None:
    [view] = views(layers(grid_release()))
    assert view.layer.margin is not None
    stated = float(margin_words(view).removeprefix(", each ± ").replace(",", ""))
    assert stated == pytest.approx(float(view.layer.margin[0]) * view.factor, abs=0.5)
    assert view.factor != 1


def test_a_map_of_boxes_states_the_margin_of_a_count() -> None:
    shown = [each for each in views(layers(partition_release())) if each.divisor]
    assert all(margin_words(view).startswith(", each count ± ") for view in shown)
    assert shown


def test_gathering_places_are_as_large_as_on_the_map_and_have_an_edge() -> None:
    """Dots of four pixels would vanish in a small picture, as would pale ones without an edge."""
    released = clusters_release()
    [view] = [each for each in views(layers(released)) if each.layer.name == "clusters"]
    sizes = radii(np.array([400.0, 100.0, 1.0, -3.0]))
    assert sizes.tolist() == [LARGEST, LARGEST / 2, SMALLEST, SMALLEST]
    drawn = np.asarray(draw_map(released, view, WIDTH, MAP_HEIGHT))
    ink = (drawn == INK).all(axis=-1)
    # Three circles have edges in this colour; the largest edge alone has more than 160 pixels.
    assert ink.sum() > 160


def test_the_picture_names_its_publisher_licence_and_credits() -> None:
    about = {"publisher": "A city", "licence": "CC BY 4.0"}
    assert source_words(about) == "A city · CC BY 4.0"
    credit = "Boundaries © OpenStreetMap contributors, ODbL 1.0"
    assert source_words({**about, "attribution": credit}) == f"A city · CC BY 4.0 · {credit}"


def test_margins_have_no_more_digits_than_on_pages() -> None:
    [view, *_] = [each for each in views(layers(partition_release())) if each.divisor]
    margin = np.linspace(0.083_71, 1234.5, len(view.layer))
    spread = dataclasses.replace(view, layer=dataclasses.replace(view.layer, margin=margin))
    assert margin_words(spread) == ", each count ± 0.084 to 1,234"


def test_a_position_in_the_picture_is_that_of_its_map() -> None:
    # A square in degrees is nearly a square on the map, since it lies on the equator.
    extent = (-0.01, -0.01, 0.01, 0.01)
    # The map is 800 pixels high, with a margin of 40 on each side, below a heading of 110.
    assert position(extent, extent) == pytest.approx((600, 510, 720, 720), abs=0.01)
    corner = position((-0.01, 0.0, 0.0, 0.01), extent)  # the north-western quarter
    assert corner == pytest.approx((420, 330, 360, 360), abs=0.01)
