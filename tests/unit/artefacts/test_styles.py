"""Styles that colour every feature as on the site's map, read with other programs."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import fromstring

import numpy as np
import pandas
import pmtiles.reader
import pyogrio
import pytest

from dpgeo.artefacts import geopackage, geotiff, maplibre_style, vector_tiles
from dpgeo.artefacts.qgis_style import style as qgis_style
from dpgeo.artefacts.table import columns
from dpgeo.artefacts.view import (
    NO_ESTIMATE,
    NOISE,
    PLAIN,
    TIDE,
    TOO_FEW,
    View,
    hexadecimal,
    views,
)
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import layers
from tests.unit.artefacts.releases import examples

ROOT = Path(__file__).parents[3]

DRAWN = [(released, view) for released in examples() for view in views(layers(released))]
EVERY_VIEW = pytest.mark.parametrize(
    ("released", "view"), DRAWN, ids=[f"{r.mechanism}-{v.layer.name}" for r, v in DRAWN]
)

ALONE = pytest.mark.parametrize(
    "view", [view for _, view in DRAWN], ids=[f"{r.mechanism}-{v.layer.name}" for r, v in DRAWN]
)

Check = Callable[[pandas.DataFrame], Any]


def frame_of(view: View) -> pandas.DataFrame:
    """Return the columns of a view's layer as they appear in downloaded files."""
    return pandas.DataFrame(columns(view.layer))


def expected(view: View) -> list[str]:
    """Return the colour that each feature has on the site's map."""
    return [hexadecimal((red, green, blue)) for red, green, blue in view.colours().tolist()]


def test_colours_are_those_of_the_site() -> None:
    tokens = (ROOT / "frontend/src/ui/tokens.css").read_text(encoding="utf-8")
    light = tokens.partition("@media")[0]
    for step, colour in enumerate(TIDE):
        assert f"--tide-{step}: {hexadecimal(colour)};" in light


def qgis_colours(text: str, table: pandas.DataFrame) -> tuple[list[str], list[str]]:
    """Return each row's colour under the rules of a QGIS style, and the labels of the legend."""
    root = fromstring(text.partition("\n")[2])  # noqa: S314 - our own file
    symbols = {
        each.get("name"): next(
            option.get("value")
            for option in each.iter("Option")
            if option.get("name") in {"color", "line_color"}
        )
        for each in root.iterfind("renderer-v2/symbols/symbol")
    }
    colours = pandas.Series([""] * len(table), dtype=object)
    labels = []
    for rule in root.iterfind("renderer-v2/rules//rule"):
        labels.append(rule.get("label") or "")
        if rule.get("symbol") is None:
            continue
        condition = rule.get("filter", "TRUE")
        met: Any
        if condition == "ELSE":
            met = colours == ""
        elif condition == "TRUE":
            met = pandas.Series([True] * len(table))
        else:
            words = re.sub(r'"(\w+)" IS NOT NULL', r"`\1` == `\1`", condition)
            words = re.sub(r'"(\w+)"', r"`\1`", words).replace(" AND ", " and ")
            met = table.eval(words, engine="python")
            assert not (met & (colours != "")).any(), "two rules hold for one feature"
        red, green, blue, _ = map(int, str(symbols[rule.get("symbol")]).split(","))
        colours[met] = hexadecimal((red, green, blue))
    return colours.tolist(), labels


@EVERY_VIEW
def test_the_qgis_style_colours_every_feature_as_the_map_does(
    released: Released, view: View
) -> None:
    colours, labels = qgis_colours(qgis_style(released, view), frame_of(view))
    assert colours == expected(view)
    assert [label for label in labels if label in view.labels] == list(view.labels)
    assert (TOO_FEW in labels) == bool(view.least)
    assert (NO_ESTIMATE in labels) == (view.layer.told is not None)


@EVERY_VIEW
def test_the_image_of_estimates_is_drawn_in_classes_or_in_shades_of_grey(
    released: Released, view: View
) -> None:
    """Without a style of ours, QGIS would draw an image of two bands in red on black."""
    root = fromstring(qgis_style(released, view).partition("\n")[2])  # noqa: S314 - our own file
    kinds = [each.get("type") for each in root.iterfind("pipe/rasterrenderer")]
    if not geotiff.holds(view.layer):
        assert kinds == []
    elif view.stops is not None:
        assert kinds == ["singlebandpseudocolor"]
    else:
        assert kinds == ["singlebandgray"]
        assert float(root.findtext(".//contrastEnhancement/maxValue", "")) > 0


@EVERY_VIEW
def test_a_geopackage_opens_styled(released: Released, view: View, tmp_path: Path) -> None:
    path = tmp_path / "layer.gpkg"
    geopackage.write(released, view.layer, path)
    geopackage.add_style(released, view, path)
    names = [name for name, _ in pyogrio.list_layers(path).tolist()]
    assert names == [view.layer.name, "layer_styles"]
    styles = pyogrio.read_dataframe(path, layer="layer_styles").iloc[0]
    with contextlib.closing(sqlite3.connect(path)) as database:
        [column] = database.execute(
            "SELECT table_name, column_name FROM gpkg_geometry_columns"
        ).fetchall()
    assert (styles.f_table_name, styles.f_geometry_column) == column
    assert styles.useAsDefault
    colours, _ = qgis_colours(styles.styleQML, pyogrio.read_dataframe(path, layer=view.layer.name))
    assert colours == expected(view)
    with sqlite3.connect(path) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        described = database.execute("SELECT table_name, data_type FROM gpkg_contents").fetchall()
    database.close()
    assert described == [(view.layer.name, "features"), ("layer_styles", "attributes")]


def maplibre(expression: Any, row: dict[str, Any]) -> Any:
    """Evaluate a MapLibre expression for a feature with the properties `row`."""
    if not isinstance(expression, list):
        return expression
    name, *parts = expression
    if name == "get":
        return row[parts[0]]
    if name == "case":
        return maplibre(parts[1] if maplibre(parts[0], row) else parts[2], row)
    values = [maplibre(part, row) for part in parts]
    if name == "step":
        value, colour, *stops = values
        for edge, output in zip(stops[::2], stops[1::2], strict=True):
            colour = output if value >= edge else colour
        return colour
    computed: dict[str, Callable[[], Any]] = {
        "all": lambda: all(values),
        "==": lambda: values[0] == values[1],
        "to-number": lambda: float(values[0]),
        ">": lambda: values[0] > values[1],
        ">=": lambda: values[0] >= values[1],
        "/": lambda: values[0] / values[1],
        "*": lambda: values[0] * values[1],
    }
    return computed[name]()


@ALONE
def test_the_maplibre_style_colours_every_feature_as_the_map_does(view: View) -> None:
    expression = maplibre_style.colours(view)
    rows = frame_of(view).to_dict("records")
    stored = vector_tiles._properties(view.layer).keys()
    records = [{name: row[name] for name in stored} for row in rows]
    assert [maplibre(expression, row) for row in records] == expected(view)


@ALONE
def test_colours_by_one_column_are_those_of_the_map(view: View) -> None:
    """Colours that QGIS derives from one column match those of the site's map."""
    if view.stops is None:
        return
    values = frame_of(view)[view.field].to_numpy()
    limits = [np.inf if limit is None else limit for limit, _, _ in view.stops]
    if view.column:
        limits[-1] = np.inf
    places = np.searchsorted(limits, values, side="right")
    colours = [
        NOISE if np.isnan(value) else view.stops[place][1]
        for value, place in zip(values, places, strict=True)
    ]
    assert list(map(hexadecimal, colours)) == expected(view)


def test_an_archive_of_tiles_says_what_it_is(tmp_path: Path) -> None:
    released, view = DRAWN[0]
    vector_tiles.write(released, view.layer, path := tmp_path / "cells.pmtiles")
    with path.open("rb") as file:
        metadata = pmtiles.reader.Reader(pmtiles.reader.MmapSource(file)).metadata()
    assert metadata["name"] == "Evening walks: Counts of cells"
    assert metadata["attribution"] == "City of Example, invented data"
    assert (metadata["license"], metadata["epsilon"]) == ("CC BY 4.0", "0.5")
    assert metadata["vector_layers"][0]["fields"]["margin"] == "Number"


def test_the_views_are_of_every_kind() -> None:
    assert any(view.divisor for _, view in DRAWN)
    assert any(view.factor != 1 for _, view in DRAWN)
    assert any(view.least == "coloured_from" for _, view in DRAWN)
    assert any(view.column for _, view in DRAWN)
    colours = {colour for _, view in DRAWN for colour in expected(view)}
    assert {hexadecimal(NOISE), hexadecimal(PLAIN)} <= colours
    assert {hexadecimal(colour) for colour in TIDE} <= colours
