"""GeoJSON features read by a text pattern give the same rows and errors as a JSON parser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dpgeo.core.measures import Measure
from dpgeo.ingest import geojson_reader
from dpgeo.ingest.schema import Columns, Schema
from tests.unit.ingest.files import document, feature, read_features
from tests.unit.ingest.helpers import AREA, bits, schema

DECLARED = schema(Columns(geometry="geometry", person="who", time="when"))
USUAL = [
    feature(
        f"anna {number}", 5 + number / 7, 45 - number, when=f"2024-03-{number + 1:02}", n=number
    )
    for number in range(5)
]

TEXT = json.dumps(feature("anna", 5.25, 45, when="2024-03-01", n=1))
ODD = [
    *(TEXT.replace("5.25", written) for written in (
        "5", "-0", "-0.0", "05.25", "5.", ".5", "+5", "5e0", "5.2e1", "1e999", "5.25.1", "--5",
        "5-1", "5.123456789012345678901", "9007199254740993", "NaN", "null", "true", '"5"', "[5]",
        "", " 5.25", "5.25 ", "5.25, 45, 45, 45",
    )),
    *(TEXT.replace('"anna"', written) for written in (
        '"an\\u006ea"', '"an\\na"', '""', '" anna "', '"{[,:"', "7", "-0", "7.0", "7.5", "1e3",
        "1e300", "9007199254740993", "null", "true", '["anna"]', '{"a": "anna"}', '"x' + "y" * 1500
        + '"', '"É"', '"\x01"', '"anna', 'anna"', '"anna", "who": "ben"',
        '"anna"}, "properties": {',
    )),
    *(TEXT.replace('"2024-03-01"', written) for written in (
        "1709251200", "1709251200.5", "1709251200.50", "-0", "1e9", "0.00001", "null", '"soon"',
    )),
    *(TEXT.replace('"n": 1', written) for written in (
        '"n": 01', '"n": -', '"n": 1.', '"n": nan', '"n": NaN', '"n": "x"', '"m": 1',
        '"n": 1, "n": 2',
        '"n": {"who": "ben"}', '"who": "ben"', '"n": [1, 2]', '"n": 1e5', '"n": ' + "1" * 5000,
    )),
    TEXT.replace("Point", "LineString"), TEXT.replace("Feature", "feature"), TEXT + "}", TEXT[:-1],
    TEXT.replace(": ", ":"), TEXT.replace(" ", "  "), TEXT + ",", "{}", "null", "[1]", '"type"',
]  # fmt: skip


def read(folder: Path, texts: list[str], declared: Schema = DECLARED, *, lines: bool) -> Any:
    path = folder / "upload.geojson"
    content = "\n".join(texts) + "\n" if lines else document(texts)
    path.write_text(content)
    return read_features(path, declared, lines=lines)


def test_every_odd_record_is_read_or_refused_as_by_the_parser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = [json.dumps(each) for each in USUAL]
    for odd in ODD:
        texts = [*usual[:2], odd, *usual[2:]]
        by_shape, report = read(tmp_path, texts, lines=True)
        first, first_report = read(tmp_path, [odd, *usual], lines=True)
        with monkeypatch.context() as patch:
            patch.setattr(geojson_reader, "MOST_SHAPES", 0)
            parsed, parsed_report = read(tmp_path, texts, lines=True)
            parsed_first, parsed_first_report = read(tmp_path, [odd, *usual], lines=True)
        assert bits(by_shape) == bits(parsed), odd
        assert report == parsed_report, odd
        assert bits(first) == bits(parsed_first), odd
        assert first_report == parsed_first_report, odd


@pytest.mark.parametrize("lines", [True, False])
def test_records_of_several_shapes_are_read_as_by_the_parser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: bool
) -> None:
    measured = Schema(
        DECLARED.columns, DECLARED.unit, AREA, measures=(Measure("v", "v", "", 0, 10, 10),)
    )
    usual: list[tuple[str | int | None, dict[str, Any]]] = [
        ("anna", {"v": 1.5}),
        (None, {"v": 2, "note": "a ] , }"}),
        ("bén", {"v": None}),
        ("eve", {"v": "3", "deep": {"who": ["x", 1]}}),
        ("\\", {}),
        ("zoë", {"a": 1, "v": 0.1}),
    ]
    records = [
        feature(number if who is None else who, 5 + number / 9, 45, when="2024-03-01", **properties)
        for number in range(6)
        for who, properties in usual
    ]
    texts = [json.dumps(each, ensure_ascii=False) for each in records]
    by_shape, report = read(tmp_path, texts, measured, lines=lines)
    monkeypatch.setattr(geojson_reader, "MOST_SHAPES", 0)
    parsed, parsed_report = read(tmp_path, texts, measured, lines=lines)
    assert by_shape.num_rows == 36
    assert bits(by_shape) == bits(parsed)
    assert report == parsed_report


@pytest.mark.parametrize("position_format", ["", "comma", "grouped", "e7"])
@pytest.mark.parametrize("crs", ["", "EPSG:3857"])
def test_coordinates_in_properties_are_read_as_by_the_parser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crs: str, position_format: str
) -> None:
    """A number in a property is read as JSON's parser reads it.

    "412.500" and "412.5" are one number to the parser, but would be two texts.
    """
    columns = Columns(
        longitude="e", latitude="n", person="who", crs=crs, position_format=position_format
    )
    written = ["4.500", "4.5", "412.500", "412.5", "412500", "4.1250000", "41234567", "1e3", "0.0"]
    texts = [
        f'{{"type": "Feature", "geometry": null, "properties": {{"who": "anna", "e": {east}, '
        f'"n": {north}}}}}'
        for east in written
        for north in written
    ]
    by_shape, report = read(tmp_path, texts, schema(columns), lines=True)
    monkeypatch.setattr(geojson_reader, "MOST_SHAPES", 0)
    parsed, parsed_report = read(tmp_path, texts, schema(columns), lines=True)
    assert bits(by_shape) == bits(parsed)
    assert report == parsed_report


def test_features_of_one_shape_are_not_parsed_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[bytes] = []
    parse = geojson_reader.parse

    def parse_and_note(text: bytes) -> Any:
        parsed.append(text)
        return parse(text)

    monkeypatch.setattr(geojson_reader, "parse", parse_and_note)
    rows, _ = read(tmp_path, [json.dumps(each) for each in USUAL], lines=True)
    assert rows.num_rows == len(USUAL)
    assert len(parsed) == 1
