"""Compressed uploads: any format in gzip, or a single file in a zip archive."""

from __future__ import annotations

import gzip
import io
import json
import re
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpgeo.core.errors import InvalidInput
from dpgeo.ingest import decompress
from dpgeo.ingest.decompress import unpack
from dpgeo.ingest.ingestion import ingest
from dpgeo.ingest.parts import find_reader
from dpgeo.ingest.preview import preview
from dpgeo.ingest.report import Report
from dpgeo.ingest.schema import Columns, Schema
from tests.unit.ingest.files import (
    BY_GEOM,
    BY_GEOMETRY,
    document,
    feature,
    geopackage,
    gpkg_point,
)
from tests.unit.ingest.helpers import KEY, ingest_here, schema

TABLE = b"who,lat,lon\nanna,45,5\nben,46,6\n"


def silent(_done: int, _total: int) -> None:
    pass


def archive(*members: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members:
            file.writestr(name, content)
    return buffer.getvalue()


def link() -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("visits.csv")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


def encrypted() -> bytes:
    content = bytearray(archive(("visits.csv", TABLE)))
    for magic, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(magic) + place] |= 1
    return bytes(content)


def other_packing() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_LZMA) as file:
        file.writestr("visits.csv", TABLE)
    return buffer.getvalue()


def run(folder: Path, content: bytes, name: str, declared: Schema | None = None) -> Report:
    source = folder / "upload"
    source.write_bytes(content)
    return ingest(source, name, declared or schema(), KEY, folder / "out", silent)


def samples(folder: Path) -> dict[str, tuple[bytes, Schema]]:
    """Write a file of each format; all contain the same two rows."""
    rows = [feature("anna", 5.0, 45.0), feature("ben", 6.0, 46.0)]
    layer = geopackage(
        folder / "a.gpkg", [(gpkg_point(5, 45), "anna", 0), (gpkg_point(6, 46), "ben", 0)]
    )
    table = folder / "a.parquet"
    pq.write_table(pa.table({"who": ["anna", "ben"], "lat": [45, 46], "lon": [5, 6]}), table)
    files = {
        "a.csv": (TABLE, schema()),
        "a.parquet": (table.read_bytes(), schema()),
        "a.gpkg": (layer.read_bytes(), BY_GEOM),
        "a.geojson": (document(rows).encode(), BY_GEOMETRY),
        "a.geojsonl": ("\n".join(map(json.dumps, rows)).encode(), BY_GEOMETRY),
    }
    layer.unlink()
    table.unlink()
    return files


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.gpkg", "a.geojson", "a.geojsonl"])
def test_every_format_is_the_same_plain_gzipped_and_zipped(tmp_path: Path, name: str) -> None:
    content, declared = samples(tmp_path)[name]
    packed = {
        name: content,
        f"{name}.gz": gzip.compress(content),
        "a.zip": archive(("folder/", b""), (f"folder/{name}", content),
                         (f"__MACOSX/folder/._{name}", b"x")),
    }  # fmt: skip
    source, folder = tmp_path / "upload", tmp_path / "folder"
    folder.mkdir()
    for packed_name, packed_content in packed.items():
        source.write_bytes(packed_content)
        (part,) = unpack(source, packed_name, folder, lambda: None)
        assert (part.path.read_bytes(), part.name) == (content, name)
    report = run(tmp_path, packed["a.zip"], "a.zip", declared)
    assert (report.read, report.accepted) == (2, 2)


def test_gzip_in_several_members_is_read_to_its_end(tmp_path: Path) -> None:
    content = gzip.compress(TABLE) + gzip.compress(b"cleo,47,7\n")
    assert run(tmp_path, content, "a.csv.gz").accepted == 3


def misplaced() -> bytes:
    """Return a zip archive with a wrong offset for its central directory."""
    packed = archive(("a.csv", TABLE))
    return packed[:-6] + (5_000).to_bytes(4, "little") + packed[-2:]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (gzip.compress(TABLE * 1_000)[:-9], "damaged or cut short"),
        (gzip.compress(TABLE * 1_000)[:-4] + b"1234", "damaged or cut short"),
        (gzip.compress(TABLE)[:5], "damaged or cut short"),
        (gzip.compress(gzip.compress(TABLE)), "compressed twice"),
        (gzip.compress(archive(("a.csv", TABLE))), "archive within an archive"),
        (gzip.compress(b""), "empty"),
        (archive(), "holds 0 files"),
        (archive(("a.csv", TABLE), ("b.gpx", b"<gpx/>")), "several kinds (.csv, .gpx)"),
        (archive(*((f"{i}.csv", b"") for i in range(1_001))), "holds 1,001 files"),
        (archive(("a.shp", b"1"), ("b.shp", b"2")), "holds 2 shapefiles; pack exactly one"),
        (archive(("../a.csv", TABLE)), "name points outside it"),
        (archive(("a/../../b.csv", TABLE)), "name points outside it"),
        (archive(("..\\a.csv", TABLE)), "name points outside it"),
        (archive(("/etc/passwd", TABLE)), "name points outside it"),
        (archive(("C:\\a.csv", TABLE)), "name points outside it"),
        (archive((link(), b"/etc/passwd")), "holds a link"),
        (encrypted(), "an encrypted file"),
        (other_packing(), "packed in an unusual way"),
        (archive(("a.zip", archive(("a.csv", TABLE)))), "archive within an archive"),
        (archive(("a.csv.gz", gzip.compress(TABLE))), "compressed twice"),
        (archive(("a.csv", TABLE * 1_000))[:-30], "damaged or cut short"),
        (archive(("a.csv", TABLE)).replace(b"a.csv", b"b.csv", 1), "damaged or cut short"),
        (b"PK\x03\x04" + bytes(1_000), "damaged or cut short"),
        (misplaced(), "damaged or cut short"),
    ],
    # Compressed data contain the time of compression, so they must not be part of test ids.
    ids=lambda value: value if isinstance(value, str) else "file",
)
def test_archives_without_exactly_one_plain_file_are_refused(
    tmp_path: Path, content: bytes, words: str
) -> None:
    (tmp_path / "upload").write_bytes(content)
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(InvalidInput, match=re.escape(words)) as caught:
        find_reader(unpack(tmp_path / "upload", "upload.zip", folder, lambda: None))
    assert caught.value.field == "file"


@pytest.mark.parametrize(
    "content", [archive(), gzip.compress(TABLE)[:5], encrypted()], ids=range(3)
)
def test_a_refused_archive_leaves_nothing_behind(tmp_path: Path, content: bytes) -> None:
    for look in (
        lambda: run(tmp_path, content, "upload.zip"),
        lambda: preview(tmp_path / "upload", "upload.zip"),
    ):
        with pytest.raises(InvalidInput) as caught:
            look()
        assert caught.value.field == "file"
    assert [path.name for path in tmp_path.iterdir()] == ["upload"]


@pytest.mark.parametrize("pack", [gzip.compress, lambda content: archive(("a.csv", content))])
def test_a_decompression_bomb_is_refused_before_it_is_unpacked(
    tmp_path: Path, pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    bomb = pack(TABLE + bytes(decompress.FREE_BYTES + (8 << 20)))
    assert len(bomb) < 1 << 20
    with pytest.raises(InvalidInput, match="250 times its size"):
        run(tmp_path, bomb, "a.csv.gz")
    assert [path.name for path in tmp_path.iterdir()] == ["upload"]
    monkeypatch.setattr(decompress, "MAX_BYTES", 1 << 20)
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "upload").write_bytes(pack(bytes(2 << 20)))
    with pytest.raises(InvalidInput, match="unpacks to more than"):
        unpack(tmp_path / "upload", "a", folder, lambda: None)
    assert (folder / "unpacked").stat().st_size <= 1 << 20


def test_a_preview_unpacks_only_the_beginning_of_a_long_text(tmp_path: Path) -> None:
    source = tmp_path / "upload"
    source.write_bytes(gzip.compress(TABLE + b"cleo,47,7\n" * 200_000))
    (part,) = unpack(source, "a.csv.gz", tmp_path, lambda: None, enough=1)
    path, name = part.path, part.name
    assert (name, path.stat().st_size) == ("a.csv", decompress.CHUNK_BYTES)
    assert preview(source, "a.csv.gz").suggested == Columns("lon", "lat", file_format="csv.gz")


def test_a_file_unpacked_by_its_owner_gives_the_same_rows(tmp_path: Path) -> None:
    report = run(tmp_path, gzip.compress(TABLE), "a.csv.gz")
    packed = (tmp_path / "out").read_bytes()
    source = tmp_path / "plain"
    source.write_bytes(TABLE)
    assert ingest_here(source, "a.csv", schema(), KEY, tmp_path / "out", silent) == report
    assert (tmp_path / "out").read_bytes() == packed
