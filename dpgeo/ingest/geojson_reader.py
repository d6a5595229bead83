"""GeoJSON reader for newline-delimited features and for whole documents.

In newline-delimited files one line is one row, as in CSV: a line that is not JSON is refused alone.

A document is one text. Where one feature ends and the next begins is known only as long as the text
is well-formed. How should a broken document be handled? Suppose that one person's record is broken,
and compare the same upload without that person:

- Keeping the features before the break would drop everybody after it: one person would decide
  whether any number of other people's rows are kept, no contribution bound would hold, and nobody
  would notice.
- Continuing at what looks like the next feature is a guess that the broken text itself can mislead;
  two broken features of one person can absorb all features between them.
- Refusing the whole document changes no canonical file: none is written, and nothing can be
  released from it. In every *accepted* document each byte of the list belongs to exactly one
  well-formed element, so removing some features leaves a document that is accepted too, and removes
  exactly their rows from the canonical file.

So a broken document is refused as a whole. One exception remains: a release from a document reveals
that no record in it was malformed. Programs that write JSON produce no malformed records. For
records assembled by hand, the newline-delimited form is recommended, because it does not have this
exception. A well-formed element that is not a usable point (null, a line, a huge or odd feature) is
refused alone in both forms.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec
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
"""Name under which a feature's geometry is declared."""

MAX_PREAMBLE_BYTES = 1 << 20
HEAD_BLOCK_BYTES = 1 << 18

BLANKS = b" \t\x1e"
IS_BLANK: NDArray[np.bool_] = np.isin(np.arange(256), list(BLANKS))


@dataclass(frozen=True, slots=True)
class Preamble:
    """What precedes a document's features: the stated CRS, and the byte at which features begin."""

    begins: int
    crs: str


class Feature(NamedTuple):
    """The properties and geometry of a feature."""

    properties: Mapping[str, Any]
    geometry: Any


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Texts, each of which should be a feature, in `block` from `starts` to `ends` (n,).

    `too_long` (n,) marks texts that are too long; they may be cut to their beginning, or be empty.
    `numbers` (n,) are the records' numbers in the file, and `done` is how many bytes have been
    read.
    """

    block: bytes
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    too_long: NDArray[np.bool_]
    numbers: NDArray[np.int64]
    done: int

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def texts(self) -> list[bytes]:
        """The records' texts, copied."""
        spans = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        return [self.block[start:end] for start, end in spans]

    def some(self, which: NDArray[np.int64]) -> Records:
        """Return the records with these indices."""
        return Records(
            self.block,
            self.starts[which],
            self.ends[which],
            self.too_long[which],
            self.numbers[which],
            self.done,
        )


def read_sequence(
    path: Path,
    wanted: Wanted,
    tally: Tally,
    *,
    crs: str = WGS84,
    block_bytes: int = csv_lines.BLOCK_BYTES,
) -> Iterator[Batch]:
    """Yield the rows of newline-delimited GeoJSON in batches, lines numbered from 1.

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
    """Yield the rows of a FeatureCollection in batches, features numbered from 1.

    Raises InvalidInput if the document is not valid JSON to its end, or if it states another
    coordinate reference system than the declared one.
    """
    total = path.stat().st_size
    with path.open("rb") as file:
        preamble = read_preamble(file)
        if preamble is None:
            raise json_array.not_json(Phrase("goes wrong before its list of features"), 0)
        _check_geometry(wanted, preamble.crs, crs)
        for records in document_records(file, preamble, block_bytes):
            yield _batch(records, wanted, tally, total, document=True)
        trailing_members = json_array.read_rest(file)
        if "features" in trailing_members:
            raise json_array.not_json(Phrase('has "features" twice'), file.tell())
        _check_geometry(wanted, _stated(trailing_members.get("crs")), crs)


def head(file: IO[bytes], size: int, *, document: bool) -> tuple[str, list[Feature]]:
    """Return the stated CRS ("" if none), and the usable features of the first `size` records.

    `document` is false for newline-delimited files.
    """
    file.seek(0)
    crs = ""
    if document:
        preamble = read_preamble(file)
        if preamble is None:
            return "", []
        crs = preamble.crs
        record_batches = document_records(file, preamble, HEAD_BLOCK_BYTES)
    else:
        record_batches = sequence_records(file, HEAD_BLOCK_BYTES)
    features: list[Feature] = []
    looked_at = 0
    for records in record_batches:
        for text, too_long in zip(records.texts, records.too_long.tolist(), strict=True):
            looked_at += 1
            if looked_at > size:
                return crs, features
            with suppress(Unusable, ValueError):
                features.append(feature(text, too_long=too_long, document=document))
    return crs, features


def read_head(path: Path, *, document: bool) -> Head:
    """Return the first features as rows, with a column for every property in them.

    `document` is false for newline-delimited files.
    """
    with path.open("rb") as file:
        crs, features = head(file, PREVIEW_ROWS, document=document)
    names = list(dict.fromkeys(name for each in features for name in each.properties))
    names = [name for name in names if name != GEOMETRY and _is_text(name)][: MAX_COLUMNS - 1]
    rows = [
        [*(_plain_json(each.properties.get(name)) for name in names), _plain_json(each.geometry)]
        for each in features
    ]
    return Head([*names, GEOMETRY], rows, GEOMETRY, crs, complete=False)


def _is_text(name: str) -> bool:
    """Return whether a name can be shown and declared.

    An escape in JSON may encode half of a surrogate pair, which is no character.
    """
    return not any("\ud800" <= sign <= "\udfff" for sign in name)


def _plain_json(value: object) -> str:
    return shorten(json.dumps(value) if isinstance(value, dict | list) else value)


def sequence_records(file: IO[bytes], block_bytes: int) -> Iterator[Records]:
    """Yield the lines of a file, without the record separators of RFC 8142."""
    for lines in csv_lines.read_lines(file, block_bytes):
        data = np.frombuffer(lines.block, dtype=np.uint8)
        starts, ends = lines.starts.copy(), lines.ends.copy()
        for index in np.flatnonzero(IS_BLANK[data[starts]] | IS_BLANK[data[ends - 1]]).tolist():
            text = lines.block[starts[index] : ends[index]]
            starts[index] += len(text) - len(text.lstrip(BLANKS))
            ends[index] = starts[index] + len(text.strip(BLANKS))
        real = np.flatnonzero(lines.too_long | (ends > starts))
        records = Records(lines.block, starts, ends, lines.too_long, lines.numbers, lines.done)
        yield records.some(real)


def document_records(file: IO[bytes], preamble: Preamble, block_bytes: int) -> Iterator[Records]:
    """Yield the texts of the elements in a document's list of features."""
    file.seek(preamble.begins)
    read = 0
    for elements in json_array.read_elements(file, block_bytes):
        numbers = np.arange(read, read + len(elements.texts), dtype=np.int64) + 1
        read += len(elements.texts)
        lengths = np.fromiter(map(len, elements.texts), np.int64, len(elements.texts))
        ends = np.cumsum(lengths)
        block = b"".join(elements.texts)
        too_long = lengths > MAX_LINE_BYTES
        yield Records(block, ends - lengths, ends, too_long, numbers, elements.done)


def read_preamble(file: IO[bytes]) -> Preamble | None:
    """Read the members before the list "features"; return None if there is no such list.

    Raises InvalidInput for JSON objects that are clearly something else.
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
    """Read the members before "features"; return where that list's elements begin, or None.

    Bytes are decoded as Latin-1, so that positions in the text are positions in the file.
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
    """Return the code, or else the name, in a "crs" member (GeoJSON of 2008), or "" without one."""
    if member is None:
        return ""
    try:
        name = str(member["properties"]["name"])
    except (KeyError, TypeError, RecursionError):
        return "a system without a name"
    parts = [part for part in name.split(":") if part]
    if name.lower().startswith("urn:ogc:def:crs:") and len(parts) >= 6:
        return f"{parts[4]}:{parts[-1]}"
    return name


def _check_geometry(wanted: Wanted, stated: str, declared: str) -> None:
    """Check the declaration of the geometry column, if there is one.

    Raises InvalidInput if it is declared by another name than GEOMETRY, or in another coordinate
    system than the file states.
    """
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
    """Parse JSON; return it, and whether its bytes are UTF-8. Raises ValueError if not JSON.

    msgspec decodes what RFC 8259 allows. Python's slower parser gets only what msgspec refuses, of
    which it reads NaN, infinities, raw line breaks in strings and halves of surrogate pairs.
    """
    try:
        return msgspec.json.decode(text), True
    except (msgspec.DecodeError, RecursionError):
        return _parse_leniently(text)


def _parse_leniently(text: bytes) -> tuple[Any, bool]:
    try:
        decoded, decodes = text.decode(), True
    except UnicodeDecodeError:
        decoded, decodes = text.decode(errors="replace"), False
    try:
        return json.loads(decoded, strict=False), decodes
    except RecursionError as error:
        raise ValueError from error


def feature(text: bytes, *, too_long: bool, document: bool) -> Feature:
    """Parse a record as a feature.

    `too_long` says whether the record is too long. Raises Unusable if only this record is refused.
    If the record belongs to a `document` and is not JSON, raises ValueError, since the whole
    document is then refused.
    """
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
    """Parse records one by one and return those that are kept."""
    tally.read += len(records)
    sieve = Sieve(records.numbers, tally)
    features = _features(records, sieve, document=document)
    fields: dict[str, Any] = {}
    for role, name in wanted.items():
        if role is Role.GEOMETRY:
            pairs = _points(features, sieve)
            fields[Role.LONGITUDE] = pa.array([pair[0] for pair in pairs], pa.float64())
            fields[Role.LATITUDE] = pa.array([pair[1] for pair in pairs], pa.float64())
        else:
            fields[role] = texts(
                [feature.properties.get(name) for feature in features], role, sieve
            )
    mask = pa.array(sieve.kept)
    fields = {role: values.filter(mask) for role, values in fields.items()}
    return Batch(records.numbers[sieve.kept], fields, records.done, total)


def _features(records: Records, sieve: Sieve, *, document: bool) -> list[Feature]:
    """Parse records as features; a refused record becomes an empty feature."""
    parsed, refused = [], Refusals()
    written = records.texts
    for index, text in enumerate(written):
        try:
            too_long = bool(records.too_long[index])
            parsed.append(feature(text, too_long=too_long, document=document))
        except Unusable as unusable:
            parsed.append(Feature({}, None))
            refused.add(unusable.reason, index)
        except ValueError as error:
            number = int(records.numbers[index])
            what = Phrase("goes wrong in feature {number:,}", number=number)
            raise json_array.not_json(what, records.done) from error
    refused.tell(sieve, written)
    return parsed


def _points(features: Sequence[Feature], sieve: Sieve) -> list[tuple[float, float]]:
    """Return the two coordinates of each feature, NaN for refused rows."""
    coordinates, refused = [], Refusals()
    for index, one in enumerate(features):
        try:
            coordinates.append(_point(one.geometry))
        except Unusable as unusable:
            coordinates.append((np.nan, np.nan))
            refused.add(unusable.reason, index)
    refused.tell(sieve, [one.geometry for one in features])
    return coordinates


def _point(geometry: Any) -> tuple[float, float]:
    if geometry is None:
        raise Unusable(Reason.GEOMETRY_MISSING)
    if not isinstance(geometry, dict):
        raise Unusable(Reason.GEOMETRY_UNREADABLE)
    coordinates = geometry.get("coordinates")
    if geometry.get("type") == "MultiPoint" and isinstance(coordinates, list):
        if len(coordinates) > 1:
            raise Unusable(Reason.GEOMETRY_NOT_POINT)
        coordinates = coordinates[0] if coordinates else None
    elif geometry.get("type") != "Point":
        raise Unusable(Reason.GEOMETRY_NOT_POINT)
    if coordinates in (None, []):
        raise Unusable(Reason.GEOMETRY_MISSING)
    if not isinstance(coordinates, list) or not 2 <= len(coordinates) <= 4:
        raise Unusable(Reason.GEOMETRY_UNREADABLE)
    x, y = map(_coordinate, coordinates[:2])
    return x, y


def _coordinate(value: Any) -> float:
    if type(value) is float:
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unusable(Reason.GEOMETRY_UNREADABLE)
    try:
        return float(value)
    except OverflowError:
        return np.inf


SEQUENCE_READER = Reader(read_sequence, partial(read_head, document=False))
DOCUMENT_READER = Reader(read_document, partial(read_head, document=True))
