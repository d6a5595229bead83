"""GeoJSON: newline-delimited features (GeoJSONSeq), and documents with a list of features.

Newline-delimited, one line is one row, as in CSV: a line that is not JSON is refused by itself.

A document is one text, and where one feature ends and the next begins can be told only while it
is well-formed. What to do with a broken one? Think of one person's record as broken, and of the
same upload without that person:

- Keeping the features before the break would take everybody after it away: one person decides
  over the rows of any number of others, no contribution bound holds, and nobody is told.
- Going on at what looks like the next feature is a guess that the broken text itself can lead
  astray; two broken features of one person can swallow all that stand between them.
- Refusing the whole document changes no canonical file: none comes to be, and nothing can be
  released from it. Of every document that *is* accepted each byte of the list belongs to exactly
  one well-formed element, so taking some features out leaves a document that is accepted too,
  and takes exactly their rows out of the canonical file.

So a broken document is refused whole. What remains is that a release from a document tells that
no record in it was malformed; programs that write JSON make no such records, and where records
are put together by hand the newline-delimited form, which has no such exception, is advised. A
well-formed element that is no usable point (null, a line, a huge or odd feature) is a row refused
by itself in both forms.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dpgeo.core.errors import InvalidInput
from dpgeo.ingest import csv_lines, json_array
from dpgeo.ingest.batch import PREVIEW_ROWS, Batch, Head, Reader, Sieve
from dpgeo.ingest.crs import WGS84, check_stated
from dpgeo.ingest.header import MAX_COLUMNS
from dpgeo.ingest.report import MAX_LINE_BYTES, Reason, Tally, shorten
from dpgeo.ingest.schema import Role, Wanted
from dpgeo.ingest.typed_values import Refusals, Unusable, texts
from dpgeo.phrases import Phrase

GEOMETRY = "geometry"
"""The name under which a feature's geometry is declared."""

MAX_PREAMBLE_BYTES = 1 << 20
HEAD_BLOCK_BYTES = 1 << 18


@dataclass(frozen=True, slots=True)
class Preamble:
    """What stands before the features of a document: where they begin, and the stated system."""

    begins: int
    crs: str


@dataclass(frozen=True, slots=True)
class Feature:
    """What is read of a feature."""

    properties: Mapping[str, Any]
    geometry: Any


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Texts that should be a feature each, which are too long, their numbers, and how far the
    reading has come. A text that is too long may be its beginning alone, or blank.
    """

    texts: Sequence[bytes]
    too_long: NDArray[np.bool_]
    numbers: NDArray[np.int64]
    done: int


def read_sequence(
    path: Path,
    wanted: Wanted,
    tally: Tally,
    *,
    crs: str = WGS84,
    block_bytes: int = csv_lines.BLOCK_BYTES,
) -> Iterator[Batch]:
    """The rows of newline-delimited GeoJSON in batches, lines numbered from 1.

    Raises InvalidInput for a geometry declared by another name than "geometry".
    """
    _check_geometry(wanted, "", crs)
    total = path.stat().st_size
    with path.open("rb") as file:
        for records in sequence_records(file, block_bytes):
            yield _batch(records, wanted, tally, total)


def read_document(
    path: Path,
    wanted: Wanted,
    tally: Tally,
    *,
    crs: str = WGS84,
    block_bytes: int = json_array.BLOCK_BYTES,
) -> Iterator[Batch]:
    """The rows of a FeatureCollection in batches, features numbered from 1.

    Raises InvalidInput when it is not JSON throughout or in another system than declared.
    """
    total = path.stat().st_size
    with path.open("rb") as file:
        preamble = read_preamble(file)
        if preamble is None:
            raise json_array.not_json(Phrase("goes wrong before its list of features"), 0)
        _check_geometry(wanted, preamble.crs, crs)
        for records in document_records(file, preamble, block_bytes):
            yield _batch(records, wanted, tally, total, document=True)
        rest = json_array.read_rest(file)
        if "features" in rest:
            raise json_array.not_json(Phrase('has "features" twice'), file.tell())
        _check_geometry(wanted, _stated(rest.get("crs")), crs)


def head(file: IO[bytes], size: int, *, document: bool) -> tuple[str, list[Feature]]:
    """The stated system and the first features, of those among the first `size` records."""
    file.seek(0)
    crs = ""
    if document:
        preamble = read_preamble(file)
        if preamble is None:
            return "", []
        crs = preamble.crs
        found = document_records(file, preamble, HEAD_BLOCK_BYTES)
    else:
        found = sequence_records(file, HEAD_BLOCK_BYTES)
    features: list[Feature] = []
    looked_at = 0
    for records in found:
        for text, too_long in zip(records.texts, records.too_long.tolist(), strict=True):
            looked_at += 1
            if looked_at > size:
                return crs, features
            with suppress(Unusable, ValueError):
                features.append(feature(text, too_long=too_long, document=document))
    return crs, features


def read_head(path: Path, *, document: bool) -> Head:
    """The first features; the names are all that occur among them, in order."""
    with path.open("rb") as file:
        crs, features = head(file, PREVIEW_ROWS, document=document)
    names = list(dict.fromkeys(name for each in features for name in each.properties))
    names = [name for name in names if name != GEOMETRY][: MAX_COLUMNS - 1]
    rows = [
        [*(_plain_json(each.properties.get(name)) for name in names), _plain_json(each.geometry)]
        for each in features
    ]
    return Head([*names, GEOMETRY], rows, GEOMETRY, crs, complete=False)


def _plain_json(value: object) -> str:
    return shorten(json.dumps(value) if isinstance(value, dict | list) else value)


def sequence_records(file: IO[bytes], block_bytes: int) -> Iterator[Records]:
    """Lines, without the record separators of RFC 8142."""
    for lines in csv_lines.read_lines(file, block_bytes):
        spans = zip(lines.starts.tolist(), lines.ends.tolist(), strict=True)
        found = [lines.block[start:end].strip(b" \t\x1e") for start, end in spans]
        real = lines.too_long | np.array([bool(text) for text in found])
        texts_found = [found[index] for index in np.flatnonzero(real)]
        yield Records(texts_found, lines.too_long[real], lines.numbers[real], lines.done)


def document_records(file: IO[bytes], preamble: Preamble, block_bytes: int) -> Iterator[Records]:
    """Elements of the list of features, as texts."""
    file.seek(preamble.begins)
    read = 0
    for elements in json_array.read_elements(file, block_bytes):
        numbers = np.arange(read, read + len(elements.texts), dtype=np.int64) + 1
        read += len(elements.texts)
        too_long = np.array([len(text) > MAX_LINE_BYTES for text in elements.texts], dtype=bool)
        yield Records(elements.texts, too_long, numbers, elements.done)


def read_preamble(file: IO[bytes]) -> Preamble | None:
    """The members before "features", if the file is one object with such a list; else None.

    Raises InvalidInput for JSON objects that are plainly something else.
    """
    text = file.read(MAX_PREAMBLE_BYTES).removeprefix(b"\xef\xbb\xbf")
    skipped = file.tell() - len(text)
    members: dict[str, Any] = {}
    try:
        begins = _members(text.decode("latin-1"), members)
    except RecursionError as error:
        raise InvalidInput(
            "The JSON is nested deeper than {most} levels; export plain features with "
            "simple properties.",
            most=json_array.MAX_DEPTH,
            field="file",
        ) from error
    except ValueError:
        begins = None
    if begins is not None:
        return Preamble(begins + skipped, _stated(members.get("crs")))
    if members.get("type") in {"FeatureCollection", "Topology"}:
        raise InvalidInput(
            "This JSON has no list of features within its first MiB; export it as a GeoJSON "
            "FeatureCollection of points.",
            field="file",
        )
    return None


def _members(text: str, members: dict[str, Any]) -> int | None:
    """Read an object's members up to "features"; where its first element stands, if there.

    Bytes are read as Latin-1, for then places in the text are places in the file.
    """
    decoder = json.JSONDecoder(strict=False)
    place = _after(text, 0, "{")
    while place is not None:
        name, place = decoder.raw_decode(text, _blank(text, place))
        colon = _after(text, place, ":")
        if colon is None or not isinstance(name, str):
            return None
        if name == "features":
            return _after(text, colon, "[")
        members[name], place = decoder.raw_decode(text, _blank(text, colon))
        place = _after(text, place, ",")
    return None


def _blank(text: str, place: int) -> int:
    while place < len(text) and text[place] in " \t\r\n":
        place += 1
    return place


def _after(text: str, place: int, mark: str) -> int | None:
    place = _blank(text, place)
    return place + 1 if text.startswith(mark, place) else None


def _stated(member: Any) -> str:
    """The code of a "crs" member (GeoJSON of 2008), "" for none, else its name."""
    if member is None:
        return ""
    try:
        name = str(member["properties"]["name"])
    except (KeyError, TypeError):
        return "a system without a name"
    parts = [part for part in name.split(":") if part]
    if name.lower().startswith("urn:ogc:def:crs:") and len(parts) >= 6:
        return f"{parts[4]}:{parts[-1]}"
    return name


def _check_geometry(wanted: Wanted, stated: str, declared: str) -> None:
    """The geometry has its one name and system. Raises InvalidInput."""
    if Role.GEOMETRY not in wanted:
        return
    if wanted[Role.GEOMETRY] != GEOMETRY:
        raise InvalidInput(
            "In GeoJSON the geometry is called {geometry!r}, not {name!r}.",
            geometry=GEOMETRY,
            name=wanted[Role.GEOMETRY],
            field="columns.geometry",
        )
    check_stated(stated, declared, Phrase("The geometry"))


def parse(text: bytes) -> tuple[Any, bool]:
    """The JSON value of a text, and whether the text is UTF-8. Raises ValueError if not JSON."""
    try:
        return json.loads(text.decode(), strict=False), True
    except UnicodeDecodeError:
        return json.loads(text.decode(errors="replace"), strict=False), False
    except RecursionError as error:
        raise ValueError from error


def feature(text: bytes, *, too_long: bool, document: bool) -> Feature:
    """The feature that a record is. Raises Unusable, or in a document ValueError if not JSON."""
    if too_long and not document:
        raise Unusable(Reason.LINE_TOO_LONG)
    try:
        value, decodes = parse(text)
    except ValueError:
        if document:
            raise
        raise Unusable(Reason.NOT_JSON) from None
    if too_long:
        raise Unusable(Reason.FEATURE_TOO_LONG)
    if not decodes:
        raise Unusable(Reason.UNDECODABLE)
    if not isinstance(value, dict) or value.get("type") != "Feature":
        raise Unusable(Reason.NOT_FEATURE)
    properties = value.get("properties")
    return Feature(properties if isinstance(properties, dict) else {}, value.get("geometry"))


def _batch(
    records: Records,
    wanted: Wanted,
    tally: Tally,
    total: int,
    *,
    document: bool = False,
) -> Batch:
    tally.read += len(records.texts)
    sieve = Sieve(records.numbers, tally)
    features = _features(records, sieve, document=document)
    fields: dict[str, Any] = {}
    for role, name in wanted.items():
        if role is Role.GEOMETRY:
            pairs = _points(features, sieve)
            fields[Role.LONGITUDE] = pa.array([pair[0] for pair in pairs], pa.float64())
            fields[Role.LATITUDE] = pa.array([pair[1] for pair in pairs], pa.float64())
        else:
            fields[role] = texts([found.properties.get(name) for found in features], role, sieve)
    kept = pa.array(sieve.kept)
    fields = {role: values.filter(kept) for role, values in fields.items()}
    return Batch(records.numbers[sieve.kept], fields, records.done, total)


def _features(records: Records, sieve: Sieve, *, document: bool) -> list[Feature]:
    """The records' features; an empty one where it is refused."""
    found, refused = [], Refusals()
    for index, text in enumerate(records.texts):
        try:
            too_long = bool(records.too_long[index])
            found.append(feature(text, too_long=too_long, document=document))
        except Unusable as unusable:
            found.append(Feature({}, None))
            refused.add(unusable.reason, index)
        except ValueError as error:
            number = int(records.numbers[index])
            what = Phrase("goes wrong in feature {number:,}", number=number)
            raise json_array.not_json(what, records.done) from error
    refused.tell(sieve, records.texts)
    return found


def _points(features: Sequence[Feature], sieve: Sieve) -> list[tuple[float, float]]:
    """Both coordinates of every feature; NaN where the row is refused."""
    found, refused = [], Refusals()
    for index, one in enumerate(features):
        try:
            found.append(_point(one.geometry))
        except Unusable as unusable:
            found.append((np.nan, np.nan))
            refused.add(unusable.reason, index)
    refused.tell(sieve, [one.geometry for one in features])
    return found


def _point(geometry: Any) -> tuple[float, float]:
    if geometry is None:
        raise Unusable(Reason.GEOMETRY_MISSING)
    if not isinstance(geometry, dict):
        raise Unusable(Reason.GEOMETRY_UNREADABLE)
    if geometry.get("type") != "Point":
        raise Unusable(Reason.GEOMETRY_NOT_POINT)
    coordinates = geometry.get("coordinates")
    if coordinates in (None, []):
        raise Unusable(Reason.GEOMETRY_MISSING)
    if not isinstance(coordinates, list) or not 2 <= len(coordinates) <= 4:
        raise Unusable(Reason.GEOMETRY_UNREADABLE)
    x, y = map(_coordinate, coordinates[:2])
    return x, y


def _coordinate(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unusable(Reason.GEOMETRY_UNREADABLE)
    try:
        return float(value)
    except OverflowError:
        return np.inf


SEQUENCE_READER = Reader(read_sequence, partial(read_head, document=False))
DOCUMENT_READER = Reader(read_document, partial(read_head, document=True))
