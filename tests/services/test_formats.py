"""Uploads of every format through the owners' pages and the API, read by a real worker."""

from __future__ import annotations

import gzip
import io
import json
import time
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.services.installation import Installation
from tests.services.sites import (
    BOUNDARY,
    PATIENCE_SECONDS,
    browser_at,
    form,
    form_with_file,
    program_at,
    site_of,
)
from tests.unit.ingest.files import document, feature, geopackage, gpkg_point

pytestmark = [pytest.mark.services, pytest.mark.timeout(480)]

ROWS = 30

Maker = Callable[[Path], bytes]


def positions() -> list[tuple[str, float, float]]:
    """Return rows of person, longitude and latitude, one of them far outside the declared box."""
    inside = [(f"p{n % 7}", 10.01 + n % 9 / 100, 50.01 + n % 8 / 100) for n in range(ROWS)]
    return [*inside, ("far", 20.0, 60.0)]


def separated(separator: str) -> Maker:
    head = separator.join(("who", "lat", "lon"))
    lines = [separator.join((who, repr(lat), repr(lon))) for who, lon, lat in positions()]
    return lambda _: "\n".join([head, *lines, ""]).encode()


def well_known_text(_: Path) -> bytes:
    lines = [f"{who};POINT ({lon} {lat})" for who, lon, lat in positions()]
    return "\n".join(["who;place", *lines, ""]).encode()


def projected(_: Path) -> bytes:
    from pyproj import Transformer

    turn = Transformer.from_crs(4326, 25832, always_xy=True)
    placed = [(who, *turn.transform(lon, lat)) for who, lon, lat in positions()]
    return "\n".join(["who,x,y", *(f"{who},{x},{y}" for who, x, y in placed), ""]).encode()


def geojson(_: Path) -> bytes:
    return document([feature(*one) for one in positions()]).encode()


def features_by_line(_: Path) -> bytes:
    return "\n".join(json.dumps(feature(*one)) for one in positions()).encode()


def packaged(folder: Path) -> bytes:
    rows = [(gpkg_point(lon, lat), who, None) for who, lon, lat in positions()]
    return geopackage(folder / "points.gpkg", rows).read_bytes()


def parquet(_: Path) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    who, lon, lat = zip(*positions(), strict=True)
    file = io.BytesIO()
    pq.write_table(pa.table({"who": who, "lon": np.array(lon), "lat": np.array(lat)}), file)
    return file.getvalue()


def geoparquet(_: Path) -> bytes:
    import geopandas

    who, lon, lat = zip(*positions(), strict=True)
    points = geopandas.points_from_xy(lon, lat, crs=4326)
    file = io.BytesIO()
    geopandas.GeoDataFrame({"who": who}, geometry=points).to_parquet(file)
    return file.getvalue()


def gzipped(_: Path) -> bytes:
    return gzip.compress(separated(",")(_))


def zipped(folder: Path) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("trips/points.gpkg", packaged(folder))
    return file.getvalue()


TABLE = {"longitude": "lon", "latitude": "lat", "person": "who"}
POINTS = {"geometry": "geometry", "person": "who"}

FORMATS: dict[str, tuple[Maker, Mapping[str, str]]] = {
    "comma.csv": (separated(","), TABLE),
    "semicolon.csv": (separated(";"), TABLE),
    "tab.tsv": (separated("\t"), TABLE),
    "bar.txt": (separated("|"), TABLE),
    "wkt.csv": (well_known_text, {"geometry": "place", "person": "who"}),
    "xy.csv": (
        projected,
        {"longitude": "x", "latitude": "y", "person": "who", "crs": "EPSG:25832"},
    ),
    "points.geojson": (geojson, POINTS),
    "points.geojsonl": (features_by_line, POINTS),
    "points.gpkg": (packaged, {"geometry": "geom", "person": "who"}),
    "trips.parquet": (parquet, TABLE),
    "points.parquet": (geoparquet, POINTS),
    "trips.csv.gz": (gzipped, TABLE),
    "points.zip": (zipped, {"geometry": "geom", "person": "who"}),
}


def send_by_desk(site: Any, slug: str, name: str, content: bytes, columns: Any) -> None:
    """Upload a file through the owners' pages and confirm its columns."""
    kind = f"multipart/form-data; boundary={BOUNDARY}"
    sent = site.ask(
        "POST",
        f"/desk/datasets/{slug}/upload/",
        form_with_file(name, content),
        Content_Type=kind,
    )
    assert sent.status == 302, (name, sent.body[:2000])
    address = sent.headers["Location"]
    assert site.ask("GET", address).status == 200
    typed = form({"crs": "EPSG:4326", **columns})
    confirmed = site.ask("POST", address, typed, Content_Type="application/x-www-form-urlencoded")
    assert confirmed.status == 302, (name, confirmed.body[:4000])


def send_by_api(site: Any, slug: str, name: str, content: bytes, columns: Any) -> None:
    """Upload a file through the API, in two pieces, and confirm its columns.

    The given columns are added to the suggested ones.
    """
    address = site.announce(slug, name, len(content))
    half = len(content) // 2
    site.append(address, content[:half])
    site.append(address, content[half:], half)
    assert site.must("GET", address)["state"] == "received", name
    seen = site.must("GET", f"{address}/preview")
    # In this format the rows themselves name their columns, so the names are private.
    hidden = name.startswith("points.geojson")
    shown = set() if hidden else set(columns.values()) - {"EPSG:25832"}
    assert shown <= set(seen["columns"]), name
    assert bool(seen["columns"]) is not hidden, name
    site.must("POST", f"{address}/confirm", {"columns": columns})


@pytest.mark.parametrize(
    ("installation", "way", "door"),
    [("embedded", send_by_api, program_at), ("servers", send_by_desk, browser_at)],
    ids=["api", "desk"],
    indirect=["installation"],
)
def test_every_format_is_sent_and_read(
    installation: Installation, tmp_path: Path, way: Any, door: Any
) -> None:
    facts = installation.ask("house", datasets=len(FORMATS))
    begun = time.monotonic()
    with installation.worker(), site_of(installation) as port:
        site = door(port, facts)
        for slug, (name, (make, columns)) in zip(facts["slugs"], FORMATS.items(), strict=True):
            way(site, slug, name, make(tmp_path), columns)
        while waiting(seen := installation.ask("reports")):
            assert time.monotonic() < begun + PATIENCE_SECONDS, seen
            time.sleep(0.5)
    named = dict(zip(FORMATS, (seen[slug] for slug in facts["slugs"]), strict=True))
    assert named == {name: ["ready", ROWS, ROWS + 1] for name in FORMATS}


def waiting(seen: Mapping[str, list[Any]]) -> bool:
    """Return whether any upload is still queued."""
    return any(state == "queued" for state, *_ in seen.values())
