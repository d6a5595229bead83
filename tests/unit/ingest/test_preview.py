"""Previews of a file for its owner, before its columns are declared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

from dpgeo.core.errors import InvalidInput
from dpgeo.ingest.column_guess import suggest
from dpgeo.ingest.context import Context
from dpgeo.ingest.preview import Preview, preview
from dpgeo.ingest.schema import Columns
from dpgeo.spatial.area import StudyArea

NEW_YORK = StudyArea.from_bounds(-74.3, 40.5, -73.6, 41.0)


def of(folder: Path, content: str | bytes, area: StudyArea | None = None) -> Preview:
    path = folder / "upload.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return preview(path, "upload.csv", Context(area=area))


def test_the_geometry_column_may_be_named_by_the_file(tmp_path: Path) -> None:
    geo = {"primary_column": "spot", "columns": {"spot": {"encoding": "WKB"}}}
    table = pa.table({"uid": [1], "spot": [shapely.Point(5, 45).wkb]})
    path = tmp_path / "a.parquet"
    pq.write_table(table.replace_schema_metadata({"geo": json.dumps(geo)}), path)
    assert preview(path, "a").suggested == Columns(
        geometry="spot", person="uid", file_format="parquet"
    )


def test_it_reads_only_the_beginning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "upload.csv"
    path.write_bytes(b"who,lat,lon\n" + b"a,45,5\n" * 1_000_000)
    taken = 0
    real_open = Path.open

    def counting_open(self: Path, *args: Any, **options: Any) -> Any:
        file = real_open(self, *args, **options)
        read = file.read

        class Counted:
            def __enter__(self) -> Any:
                return self

            def __exit__(self, *_: object) -> None:
                file.close()

            def read(self, size: int = -1) -> bytes:
                nonlocal taken
                chunk: bytes = read(size)
                taken += len(chunk)
                return chunk

            def __getattr__(self, name: str) -> Any:
                return getattr(file, name)

        return Counted()

    monkeypatch.setattr(Path, "open", counting_open)
    assert len(preview(path, "upload.csv").rows) == 20
    assert 0 < taken < 2_000_000


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("user poi minute lat lon", Columns("lon", "lat", "user", "")),
        ("UserID,Latitude,Longitude,Time", Columns("Longitude", "Latitude", "UserID", "Time")),
        ("device_id x y date", Columns("x", "y", "device_id", "date")),
        ("id venue_lat venueLng time_seen", Columns("venueLng", "venue_lat", "", "time_seen")),
        ("uid lng lat max", Columns("lng", "lat", "uid", "")),
        ("a b c platform xenon lonely", Columns()),
        (
            "ride_id rideable_type started_at ended_at lat lng member_casual",
            Columns("lng", "lat", "", "started_at"),
        ),
        ("user_type lat lon rider age_group", Columns("lon", "lat", "rider")),
        ("rider lon lat at", Columns("lon", "lat", "rider", "at")),
        ("rider lon lat TS", Columns("lon", "lat", "rider", "TS")),
        ("rider lon lat at_home ts_id", Columns("lon", "lat", "rider", "")),
        ("user geometry", Columns(person="user", geometry="geometry")),
        ("user geometry lat lon", Columns("lon", "lat", "user")),
    ],
)  # fmt: skip
def test_columns_are_suggested_by_their_names(names: str, expected: Columns) -> None:
    assert suggest(names.replace(",", " ").split()) == expected


def rows(*pairs: tuple[object, object], header: str = "who,lat,lon") -> str:
    return header + "\n" + "".join(f"a,{lat},{lon}\n" for lat, lon in pairs)


@pytest.mark.parametrize(
    ("content", "area", "words"),
    [
        (rows((-118.2, 34), (-118.3, 34.1)), None, "look swapped"),
        (rows((-73.9, 40.7), (-74.0, 40.8)), NEW_YORK, "look swapped"),
        (rows((5_011_000, 620_000)), None, "look projected"),
        (rows((45, 5)), NEW_YORK, "None of the first rows lies in the study area"),
        (rows((40.7, 286.1)), NEW_YORK, "Longitudes go beyond 180"),
        (rows(("x", "y")), None, "longitude and a latitude that are numbers"),
        ("who,time\na,99366\n", None, "seconds since 1970 (the first is 1970-01-02 03:36)"),
        ("who,time\na,1719835200000000000000\n", None, "far in the future"),
    ],
)
def test_hints_name_suspicious_values(
    tmp_path: Path, content: str, area: StudyArea | None, words: str
) -> None:
    (hint,) = of(tmp_path, content, area).hints
    assert words in str(hint)


def test_there_are_no_hints_for_a_city_within_its_own_area(tmp_path: Path) -> None:
    random = np.random.default_rng(8)
    pairs = list(zip(random.uniform(40.5, 41, 50), random.uniform(-74.3, -73.6, 50), strict=True))
    assert of(tmp_path, rows(*pairs), NEW_YORK).hints == []


def test_files_other_than_tables_are_refused_at_the_preview(tmp_path: Path) -> None:
    for content in (b"", b"\n\n", b"a,a\n1,2\n", b"PK\x03\x04", b"PAR1PAR1"):
        with pytest.raises(InvalidInput) as caught:
            of(tmp_path, content)
        assert caught.value.field == "file"
