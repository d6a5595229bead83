"""Uploads with hostile names, metadata and bytes, which are read or refused with a reason.

Here the readers run in the test's own process. In production, readers of binary formats run in a
sandbox, where an unexpected error counts as a software fault.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.core.measures import Measure
from dpgeo.ingest.context import Context
from dpgeo.ingest.decompress import Part
from dpgeo.ingest.forms import Form
from dpgeo.ingest.preview import preview_here
from dpgeo.ingest.schema import Columns, Schema
from dpgeo.ingest.sniff import sniff
from fixtures.messy import FILES, sightings
from tests.hostile import MINUTES, THOROUGH, WORDS, damaged, json_text, seeds, value, word
from tests.unit.ingest.files import CATALOGUE, geopackage, gpkg_point
from tests.unit.ingest.helpers import AREA, KEY, ingest_here

CASES = 5000 if THOROUGH else 20

pytestmark = pytest.mark.timeout(600 + 60 * MINUTES)

POINT = shapely.Point(5, 45).wkb

Maker = Callable[[Path, Random], None]


def make_csv(path: Path, random: Random) -> None:
    mark = random.choice([",", ";", "\t", "|"])
    lines = [mark.join(word(random) for _ in range(random.randrange(1, 6))) for _ in range(4)]
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))


def plain_csv(path: Path, _: Random) -> None:
    path.write_text('who,lat,lon,t\nanna,45,5,0\n"b ""x""",46,6,2026-01-01T00:00:00Z\n')


def feature(random: Random) -> dict[str, Any]:
    properties = {word(random): value(random) for _ in range(3)}
    odd = {"type": value(random), "coordinates": value(random)}
    geometry = random.choice([odd, value(random), {"type": "Point", "coordinates": [5, 45]}])
    return {"type": "Feature", "properties": properties, "geometry": geometry}


def make_geojson(path: Path, random: Random) -> None:
    crs = {"type": "name", "properties": random.choice([value(random), {"name": value(random)}])}
    document = {
        "type": "FeatureCollection",
        word(random): value(random),
        "crs": random.choice([crs, value(random), None]),
        "features": [feature(random) for _ in range(3)],
        word(random): value(random),
    }
    path.write_text(json_text(document))


def make_lines(path: Path, random: Random) -> None:
    texts = [json_text(random.choice([feature, value])(random)) for _ in range(3)]
    path.write_text("\n".join(texts))


def plain_geojson(path: Path, _: Random) -> None:
    one = {"who": "anna", "t": 0, "n": {"a": [1]}}
    point = {"type": "Point", "coordinates": [5, 45]}
    features = [{"type": "Feature", "properties": one, "geometry": point}] * 3
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))


def make_parquet(path: Path, random: Random) -> None:
    names = [random.choice(WORDS).encode(errors="replace").decode() for _ in range(4)]
    kinds: list[Any] = [[POINT, None], ["a\x00", ""], [1, 2], [[1], []], [{"a": 1}, None]]
    columns = [pa.array(random.choice(kinds)) for _ in names]
    about = {"encoding": random.choice(["WKB", value(random)]), "crs": value(random)}
    if random.random() < 0.5:
        about["crs"] = {"id": value(random), "name": value(random)}
    if random.random() < 0.3:
        about["crs"] = {"id": {"authority": value(random), "code": value(random)}}
    metadata = {
        "primary_column": random.choice([names[0], value(random)]),
        "columns": random.choice(
            [{names[0]: random.choice([about, value(random)])}, value(random)]
        ),
    }
    text = json_text(random.choice([metadata, metadata, metadata, value(random)]))
    table = pa.Table.from_arrays(columns, names=names)
    pq.write_table(table.replace_schema_metadata({"geo": text, "": b"\xff"}), path)


def quoted(name: str) -> str:
    text = name.encode(errors="replace").decode().replace("\x00", "")
    return '"' + text.replace('"', '""') + '"'


def make_geopackage(path: Path, random: Random) -> None:
    table = quoted(word(random)[:50])
    names = [quoted(f"{word(random)[:50]}{number}") for number in range(3)]
    geometry = random.choice([names[0], quoted(word(random)[:50])])
    literal = [each[1:-1].replace('""', '"').replace("'", "''") for each in (table, geometry)]
    system = random.choice(["4326", "0", "-1", "99", "NULL", "'x'", "x'ff00'", "1e300"])
    script = f"""{CATALOGUE}
INSERT INTO gpkg_geometry_columns VALUES ('{literal[0]}', '{literal[1]}', 'POINT', {system});
INSERT INTO gpkg_spatial_ref_sys VALUES (99, x'ff', 'a'), ('x', NULL, NULL);
CREATE TABLE {table} ({names[0]} BLOB, {names[1]}, {names[2]} {random.choice(["", "INTEGER"])});
INSERT INTO {table} VALUES (x'{gpkg_point(5, 45).hex()}', 'anna', 1e999),
  (x'47500001', x'ff00', 9223372036854775807), (NULL, NULL, NULL);"""  # noqa: S608 - a database made to be hostile
    geopackage(path, (), script)


def plain_geopackage(path: Path, _: Random) -> None:
    geopackage(path, [(gpkg_point(5, 45), "anna", 0), (gpkg_point(6, 46), "ben", 1)])


def plain_gpx(path: Path, _: Random) -> None:
    point = '<trkpt lat="45" lon="5"><time>2024-03-31T07:00:00Z</time><name>a</name></trkpt>'
    path.write_text(f"<gpx><trk><name>anna</name><trkseg>{point * 3}</trkseg></trk></gpx>")


def plain_kml(path: Path, _: Random) -> None:
    data = '<ExtendedData><Data name="who"><value>anna</value></Data></ExtendedData>'
    mark = f"<Placemark>{data}<Point><coordinates>5,45</coordinates></Point></Placemark>"
    path.write_text(f"<kml><Document>{mark * 3}</Document></kml>")


def messy(name: str) -> Maker:
    """Return a function that writes the small messy file called `name`."""
    content = FILES[name](sightings(2, seed=1)[:9])

    def make(path: Path, _: Random) -> None:
        path.write_bytes(content)

    return make


HOSTILE: dict[str, tuple[str, Maker]] = {
    "CSV": ("a.csv", make_csv),
    "GeoJSON": ("a.geojson", make_geojson),
    "GeoJSON by lines": ("a.geojsonl", make_lines),
    "GeoParquet": ("a.parquet", make_parquet),
    "GeoPackage": ("a.gpkg", make_geopackage),
}

DAMAGED: dict[str, tuple[str, Maker]] = {
    "CSV": ("a.csv", plain_csv),
    "GeoJSON": ("a.geojson", plain_geojson),
    "GeoPackage": ("a.gpkg", plain_geopackage),
    "GPX": ("a.gpx", plain_gpx),
    "KML": ("a.kml", plain_kml),
    "Excel": ("a.xlsx", messy("french.xlsx")),
    "JSON by lines": ("a.jsonl", messy("takeout.jsonl")),
    "MDS": ("a.json", messy("trips.json")),
    "text": ("a.txt", messy("chinese.txt")),
}


def read(path: Path, random: Random) -> bool:
    """Preview a file and read it with some of its columns; return whether it was read."""
    names = [word(random), "who", "lat", "lon"]
    try:
        seen = preview_here(
            [Part(path, path.name)], Context(area=AREA), Form(sniff(path, path.name))
        )
    except InvalidInput as refusal:
        said(refusal)
    else:
        json.dumps(seen.to_json(), ensure_ascii=False).encode()
        names = [*seen.columns, *names]
    try:
        target = path.with_suffix(".canonical")
        report = ingest_here(path, path.name, declared(names, random), KEY, target, lambda *_: None)
    except InvalidInput as refusal:
        said(refusal)
        return False
    json.dumps(report.to_json(), ensure_ascii=False).encode()
    return True


def declared(names: list[str], random: Random) -> Schema:
    """Return a schema with random columns; some have a hostile coordinate system or measure."""
    crs = random.choice(["", "", "EPSG:2056", word(random)])
    person = random.choice(names)
    if random.random() < 0.6:
        geometry = random.choice(["geometry", "geom", *names])
        columns = Columns(geometry=geometry, person=person, crs=crs)
    else:
        longitude, latitude = random.choice(names), random.choice(names)
        columns = Columns(longitude, latitude, person, random.choice(["", *names]), crs=crs)
    limits = random.choice([(0.0, 1.0, 1), (-1e12, 1e12, 1000), (0.0, 5e-324, 1000)])
    # Declarations refuse a measure whose column has no name, so it cannot occur here.
    column = random.choice(names) or "speed"
    measure = Measure(column, word(random), word(random), *limits)
    measures = (measure,) if random.random() < 0.3 else ()
    return Schema(columns, Unit.PERSON, AREA, measures=measures)


def said(refusal: InvalidInput) -> None:
    """Check that the message of a refusal can be displayed."""
    refusal.message.encode()
    refusal.field.encode()


def tried(made: tuple[str, Maker], folder: Path, *, harm: bool) -> None:
    name, make = made
    failures: dict[str, int] = {}
    for seed in seeds(name, CASES):
        random = Random(f"{name} {seed}")  # noqa: S311 - the same files in each run
        path = folder / name
        path.unlink(missing_ok=True)
        make(path, random)
        if harm:
            path.write_bytes(damaged(path.read_bytes(), random))
        try:
            read(path, random)
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)[-3:]
            places = " > ".join(f"{Path(one.filename).name}:{one.lineno}" for one in frames)
            failures.setdefault(f"{type(error).__name__} {str(error)[:80]!a} at {places}", seed)
    assert not failures


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_names_and_metadata_are_refused_in_words(kind: str, tmp_path: Path) -> None:
    tried(HOSTILE[kind], tmp_path, harm=False)


@pytest.mark.parametrize("kind", DAMAGED)
def test_damaged_files_are_refused_in_words(kind: str, tmp_path: Path) -> None:
    tried(DAMAGED[kind], tmp_path, harm=True)
