"""GeoJSON files, as one document or with one feature on each line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dpgeo.core.errors import InvalidInput
from dpgeo.ingest.formats import FORMATS
from dpgeo.ingest.ingestion import ingest
from dpgeo.ingest.json_array import MAX_DEPTH
from dpgeo.ingest.preview import preview
from dpgeo.ingest.schema import Columns
from dpgeo.ingest.sniff import sniff
from tests.unit.ingest.files import BY_GEOMETRY, document, feature, read_features
from tests.unit.ingest.helpers import KEY, bits, people, schema

SEQUENCE, DOCUMENT = (
    next(form for form in FORMATS if form.title == title) for title in ("GeoJSONSeq", "GeoJSON")
)

ANNA, BEN = feature("anna", 5, 45), feature("ben", 6.5, 46)


def written(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "upload.geojson"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refused(tmp_path: Path, record: Any, *, lines: bool = False) -> dict[str, int]:
    """Return the reasons, with counts, for refusing a record between two valid records."""
    records = [ANNA, record, BEN]
    if lines:
        texts = [text if isinstance(text, str) else json.dumps(text) for text in records]
        content = "\n".join(texts)
    else:
        content = document(records)
    rows, report = read_features(written(tmp_path, content), lines=lines)
    assert (report.read, rows.num_rows) == (3, 3 - sum(report.refused.values()))
    return report.refused


def test_a_document_and_its_features_line_by_line_are_the_same(tmp_path: Path) -> None:
    records = [ANNA, BEN, feature("anna", 5, 45.5, note='a "quote", [and] {more} \\')]
    as_document, report = read_features(written(tmp_path, document(records)))
    as_lines, _ = read_features(
        written(tmp_path, "\n".join(map(json.dumps, records)) + "\n"), lines=True
    )
    assert report.read == as_document.num_rows == 3
    assert bits(as_document) == bits(as_lines)


@pytest.mark.parametrize(
    "dump",
    [
        lambda value: json.dumps(value, indent=2),
        lambda value: json.dumps(value, separators=(",", ":")),
        lambda value: "\ufeff" + json.dumps(value),
        lambda value: json.dumps(dict(reversed(value.items()))),
    ],
)
def test_a_document_may_be_laid_out_in_any_way(tmp_path: Path, dump: Any) -> None:
    value = {"type": "FeatureCollection", "name": 'a"b]', "features": [ANNA, BEN], "bbox": [1, 2]}
    for block_bytes in (1, 7, 64, 1 << 21):
        path = written(tmp_path, dump(value))
        assert read_features(path, block_bytes=block_bytes)[0].num_rows == 2


@pytest.mark.parametrize("block_bytes", [1, 2, 3, 5])
def test_escapes_are_read_across_the_edges_of_blocks(tmp_path: Path, block_bytes: int) -> None:
    notes = ["\\", '"', '\\"', '\\\\"],[{', "\\\\\\", '"""', "\u00fc\U0001f600"]
    path = written(tmp_path, document([feature("anna", 5, 45, note=note) for note in notes]))
    rows, report = read_features(path, block_bytes=block_bytes)
    assert rows.num_rows == report.read == len(notes)


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ("null", "the record is not a GeoJSON feature"),
        ("[1, 2]", "the record is not a GeoJSON feature"),
        ({"type": "Point", "coordinates": [5, 45]}, "the record is not a GeoJSON feature"),
        ({**ANNA, "geometry": None}, "the geometry is missing or empty"),
        ({**ANNA, "geometry": {"type": "Point"}}, "the geometry is missing or empty"),
        ({**ANNA, "geometry": "POINT (5 45)"}, "the geometry cannot be read"),
        (feature("anna", 5), "the geometry cannot be read"),
        (feature("anna", "5", "45"), "the geometry cannot be read"),
        (feature("anna", True, 45), "the geometry cannot be read"),
        (feature("anna", float("nan"), 45), "the longitude is NaN or infinite"),
        (feature("anna", 10**400, 45), "the longitude is NaN or infinite"),
        (feature("anna", 5, 400.17), "the latitude is outside -90 to 90 degrees"),
        (feature("anna", 45, 5), "the position is outside the study area"),
        ({**ANNA, "geometry": {"type": "LineString"}}, "the geometry is not a point"),
        ({**ANNA, "properties": None}, "the person is missing"),
        (feature(None, 5, 45), "the person is missing"),
        (feature([1], 5, 45), "a declared field is a list, an object, true or false, not text or "
                              "a number"),
        (feature(True, 5, 45), "a declared field is a list, an object, true or false, not text or "
                               "a number"),
        (feature(7.5, 5, 45), "the person is a number that is not whole or too large to be exact"),
        (feature("x" * 2_000, 5, 45), "a declared field is longer than 1,000 bytes"),
        (feature("\ud800", 5, 45), "the text is not UTF-8; save the file with that encoding"),
    ],
)  # fmt: skip
def test_a_bad_record_is_refused_by_itself(
    tmp_path: Path, record: Any, reason: str, lines: bool
) -> None:
    assert refused(tmp_path, record, lines=lines) == {reason: 1}


def test_a_huge_feature_is_refused_by_itself(tmp_path: Path) -> None:
    huge = feature("anna", 5, 45, note="x" * 1_000_000)
    assert refused(tmp_path, huge) == {"the feature is longer than 65,536 bytes": 1}
    assert refused(tmp_path, huge, lines=True) == {"the line is longer than 65,536 bytes": 1}


@pytest.mark.parametrize(
    "line",
    ["{", '{"type": "Feature"', '"', '{"a": "b}', json.dumps(ANNA) + "]", "[" * 50_000, "who,1,2"],
)
def test_a_line_that_is_not_json_is_refused_by_itself(tmp_path: Path, line: str) -> None:
    reason = "the line is not JSON, or JSON nested too deeply"
    assert refused(tmp_path, line, lines=True) == {reason: 1}


@pytest.mark.parametrize(
    "content",
    [
        document([ANNA, '{"type": "Feature", "properties": {"who": "a}}', BEN]),
        document([ANNA, '{"type": "Feature"', BEN]),
        document([ANNA, '{"type": "Feature"]', BEN]),
        document([ANNA, '{"type": "Feature"}}', BEN]),
        document([ANNA, '{"a": "one quote}', BEN, '{"a": "another}', BEN]),
        document([ANNA, '{"a": [1}', BEN, '{"a": 1]}', BEN]),
        document([ANNA, "who", BEN]),
        document([ANNA])[:-20],
        document([ANNA])[:-3],
        document([ANNA]) + "{}",
        document([ANNA])[:-2] + ', "features": []}',
        document([ANNA, "\\" + json.dumps(BEN)]),
    ],
)
@pytest.mark.parametrize("block_bytes", [11, 1 << 21])
def test_a_broken_document_is_refused_whole(tmp_path: Path, content: str, block_bytes: int) -> None:
    path = written(tmp_path, content)
    with pytest.raises(InvalidInput, match=r"not well-formed JSON.*newline-delimited") as caught:
        read_features(path, block_bytes=block_bytes)
    assert caught.value.field == "file"
    with pytest.raises(InvalidInput):
        ingest(path, "a.geojson", BY_GEOMETRY, KEY, tmp_path / "out", lambda done, total: None)
    assert list(tmp_path.iterdir()) == [path]


def test_a_document_nested_deeper_than_any_feature_is_refused(tmp_path: Path) -> None:
    deep = "[" * 100_000 + "]" * 100_000
    for content in (
        document([ANNA, '{"type": "Feature", "properties": {"who": ' + deep + "}}"]),
        '{"type": "FeatureCollection", "name": ' + deep + ', "features": []}',
    ):
        path = written(tmp_path, content)
        with pytest.raises(InvalidInput, match=f"deeper than {MAX_DEPTH} levels"):
            ingest(path, "a.geojson", BY_GEOMETRY, KEY, tmp_path / "out", lambda done, total: None)
    path = written(tmp_path, deep)
    with pytest.raises(InvalidInput, match="deeper than"):
        ingest(path, "a.json", BY_GEOMETRY, KEY, tmp_path / "out", lambda done, total: None)


def test_a_huge_feature_is_refused_without_storing_it(tmp_path: Path) -> None:
    path = written(tmp_path, document([ANNA, feature("b", 5, 45, note="x" * 30_000_000), BEN]))
    with pytest.raises(InvalidInput, match="longer than 4,194,304 bytes"):
        read_features(path)


def test_values_do_not_depend_on_other_rows(tmp_path: Path) -> None:
    """How a value is read does not depend on other rows.

    If GDAL read the file, a single fraction or text would change how every person's identifier is
    read.
    """
    large = [9_007_199_254_740_993, 9_007_199_254_740_992]
    for other in ([], [0.5], ["a"], [None], [{"b": 1}]):
        records = [feature(who, 5, 45) for who in [*large, *other]]
        rows, _ = read_features(written(tmp_path, document(records)))
        assert len(set(people(rows)[:2])) == 2


def test_whole_numbers_are_one_person_however_they_are_written(tmp_path: Path) -> None:
    records = [feature(who, 5, 45) for who in (7, 7.0, "7", "7.0", " 7 ")]
    rows, _ = read_features(written(tmp_path, document(records)))
    assert len(set(people(rows))) == 1
    assert rows.num_rows == 5


def test_the_stated_coordinate_system_must_be_the_declared_one(tmp_path: Path) -> None:
    def named(name: str) -> dict[str, Any]:
        return {"type": "name", "properties": {"name": name}}

    swiss = named("urn:ogc:def:crs:EPSG::2056")
    path = written(tmp_path, document([feature("anna", 2_600_000, 1_200_000)], crs=swiss))
    with pytest.raises(
        InvalidInput, match="is in 'EPSG:2056', but EPSG:4326 is declared"
    ) as refusal:
        read_features(path)
    assert refusal.value.field == "columns.crs"
    declared = schema(Columns(geometry="geometry", person="who", crs="EPSG:2056"))
    assert read_features(path, declared)[0].num_rows == 1
    for same in ("urn:ogc:def:crs:OGC:1.3:CRS84", "EPSG:4326"):
        path = written(tmp_path, document([ANNA], crs=named(same)))
        assert read_features(path)[0].num_rows == 1
    path = written(tmp_path, document([ANNA])[:-2] + f', "crs": {json.dumps(swiss)}}}')
    with pytest.raises(InvalidInput, match="EPSG:2056"):
        read_features(path)


def test_documents_are_recognised_by_their_list_of_features(tmp_path: Path) -> None:
    one = json.dumps(ANNA)
    assert sniff(written(tmp_path, document([ANNA])), "a.json") is DOCUMENT
    assert sniff(written(tmp_path, one), "a.json") is SEQUENCE
    assert sniff(written(tmp_path, "\x1e" + one), "a.json") is SEQUENCE
    assert sniff(written(tmp_path, '{"broken": \n' + one), "a") is SEQUENCE
    assert sniff(written(tmp_path, document([ANNA])), "a.geojsonl") is SEQUENCE
    for name in ("a.jsonl", "a.ndjson"):
        titles = {sniff(written(tmp_path, text), name).title for text in (one, '{"who": "ann"}')}
        assert titles == {"NDJSON"}, "a row decides how the file is read"
    for other in ('{"type": "Topology", "objects": {}}', '{"type": "FeatureCollection"}'):
        with pytest.raises(InvalidInput, match="no list of features"):
            sniff(written(tmp_path, other), "a.json")


def test_the_preview_shows_properties_and_the_geometry(tmp_path: Path) -> None:
    records = [feature("anna", 5, 45, note=["x"]), feature("ben", 6, 46, speed=3)]
    for content, name in ((document(records), "a.geojson"),
                          ("\n".join(map(json.dumps, records)), "a.geojsonl")):  # fmt: skip
        shown = preview(written(tmp_path, content), name)
        assert shown.columns == ["who", "note", "speed", "geometry"]
        assert shown.rows[0][:3] == ["anna", '["x"]', ""]
        assert replace(shown.suggested, file_format="") == Columns(geometry="geometry")
        assert not shown.complete


def test_a_geometry_by_another_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="geometry is called 'geometry'"):
        read_features(
            written(tmp_path, document([ANNA])), schema(Columns(geometry="geom", person="who"))
        )
