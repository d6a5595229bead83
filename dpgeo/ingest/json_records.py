"""Plain JSON objects as rows: one per line, in a list, or as the trips of MDS.

The members of an object are the columns. Members of objects inside it are named like "place.lat",
and the elements of short lists like "place.0". In a list, or in the trips of the Mobility Data
Specification (MDS), an element never affects another. A document that is not JSON throughout is
refused as a whole, since broken elements might absorb others (see `geojson_reader`). A trip becomes
one row for each point of its route or, without a route, one row for the start and one for the end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

from dpgeo.ingest import csv_lines, json_array
from dpgeo.ingest.geojson_reader import MAX_PREAMBLE_BYTES, parse
from dpgeo.ingest.layout import Layout
from dpgeo.ingest.records import Record, Table, record_reader
from dpgeo.ingest.report import MAX_LINE_BYTES, Reason
from dpgeo.ingest.schema import DESTINATION, WHOLE_TRIP
from dpgeo.phrases import Phrase

MAX_DEPTH = 4
MAX_LIST = 4
MAX_MEMBERS = 1_000
BLOCK_BYTES = 1 << 18
TRIPS = "trips"
TRIP_NAMES = [*WHOLE_TRIP, "longitude", "latitude", "time", "point", *DESTINATION]


Row = Callable[[bytes], Iterator[Record]]
"""Yields the rows that one element of a list, given as text, becomes."""


@dataclass(frozen=True, slots=True)
class Begin:
    """The byte at which a list begins, and the brackets that are still open after the list ends."""

    offset: int
    before: bytes


def find_list(file: IO[bytes], members: Sequence[str] = (TRIPS,)) -> Begin | None:
    """Find a document's list of rows; return None if it is in none of the usual places.

    The list is the whole document, or one of its `members`, or of the members of its "data".
    """
    file.seek(0)
    raw = file.read(MAX_PREAMBLE_BYTES)
    text = raw.removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    skipped = len(raw) - len(text)
    bare = text.lstrip(" \t\r\n")
    if bare.startswith("["):
        return Begin(skipped + len(text) - len(bare) + 1, b"")
    decoder = json.JSONDecoder(strict=False)
    for levels, place in _openings(text):
        member = _find_member(decoder, text, place, members)
        if member is not None:
            return Begin(skipped + member, b'{"":' * levels + b"0")
    return None


def _openings(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places where a list of rows may be: how many brackets are open, and the position.

    These are the position after the document's opening bracket (1 is open) and the position after
    the opening bracket of its member "data" (2 are open).
    """
    start = text.find("{") + 1
    if start:
        yield 1, start
        data = text.find('"data"', start)
        inner = text.find("{", data) + 1
        if data >= 0 and inner and not text[data + 6 : inner - 1].strip(" \t\r\n:"):
            yield 2, inner


def _find_member(
    decoder: json.JSONDecoder, text: str, place: int, members: Sequence[str]
) -> int | None:
    """Return the position in `text` where the elements of one of the `members` begin, or None.

    `place` is the position from which members are read.
    """
    try:
        while True:
            place = _skip(text, place, " \t\r\n,")
            name, place = decoder.raw_decode(text, place)
            place = _skip(text, place, " \t\r\n:")
            if name in members:
                return place + 1 if text.startswith("[", place) else None
            _, place = decoder.raw_decode(text, place)
    except (ValueError, RecursionError):
        return None


def _skip(text: str, place: int, signs: str) -> int:
    while place < len(text) and text[place] in signs:
        place += 1
    return place


@contextmanager
def open_lines(
    path: Path, layout: Layout | None, *, message: Callable[[bytes], bytes] = bytes
) -> Iterator[Table]:
    """Open newline-delimited JSON as a table of records; `message` cuts the JSON out of a line."""
    total = path.stat().st_size
    with path.open("rb") as file:
        yield Table(None, _line_records(file, message), file.tell, total)


def _line_records(file: IO[bytes], message: Callable[[bytes], bytes]) -> Iterator[Record]:
    for lines in csv_lines.read_lines(file, BLOCK_BYTES):
        spans = zip(lines.starts, lines.ends, lines.too_long, strict=True)
        for start, end, too_long in spans:
            text = lines.block[start:end].strip(b" \t\x1e")
            if too_long:
                yield Reason.LINE_TOO_LONG
            elif text:
                yield _line_record(message(text))


def _line_record(text: bytes) -> Record:
    try:
        value, decodes = parse(text)
    except ValueError:
        return Reason.NOT_JSON
    if not decodes:
        return Reason.UNDECODABLE
    return flatten(value) if isinstance(value, dict) else Reason.NOT_OBJECT


@contextmanager
def open_list(
    path: Path,
    layout: Layout | None,
    *,
    rows: Row,
    names: list[str] | None = None,
    members: Sequence[str] = (TRIPS,),
) -> Iterator[Table]:
    """Open a JSON document's list as a table of records. Raises InvalidInput.

    `rows(text)` yields the rows that one element of the list, given as text, becomes. `names` are
    the columns, or None if they are not known in advance. `members` are where the list may be
    (`find_list`).
    """
    total = path.stat().st_size
    with path.open("rb") as file:
        begin = find_list(file, members)
        if begin is None:
            raise json_array.not_json(Phrase("goes wrong before its list of rows"), 0)
        yield Table(names, _list_records(file, begin, rows), file.tell, total)


def _list_records(file: IO[bytes], begin: Begin, rows: Row) -> Iterator[Record]:
    file.seek(begin.offset)
    number = 0
    for elements in json_array.read_elements(file, BLOCK_BYTES):
        for text in elements.texts:
            number += 1
            try:
                yield from rows(text)
            except ValueError as error:
                what = Phrase("goes wrong in element {number:,}", number=number)
                raise json_array.not_json(what, elements.done) from error
    if begin.before:
        json_array.read_rest(file, begin.before)
    elif file.read(json_array.MAX_REST_BYTES).strip():
        raise json_array.not_json(Phrase("goes on after its list"), file.tell())


def _element_row(text: bytes) -> Iterator[Record]:
    """Yield the row of a list's element, given as text. Raises ValueError if it is not JSON."""
    value, decodes = parse(text)
    if len(text) > MAX_LINE_BYTES:
        yield Reason.FEATURE_TOO_LONG
    elif not decodes:
        yield Reason.UNDECODABLE
    else:
        yield flatten(value) if isinstance(value, dict) else Reason.NOT_OBJECT


def flatten(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object's members by dotted name, such as "position.lat".

    Lists of more than MAX_LIST members, and members below MAX_DEPTH, are left out.
    """
    flat: dict[str, Any] = {}
    waiting: list[tuple[str, Any, int]] = [("", value, 0)]
    while waiting and len(flat) < MAX_MEMBERS:
        name, each, depth = waiting.pop()
        if isinstance(each, dict | list) and depth < MAX_DEPTH:
            if isinstance(each, list) and len(each) > MAX_LIST:
                continue
            members = each.items() if isinstance(each, dict) else enumerate(each)
            inner = [(f"{name}.{key}" if name else str(key), one) for key, one in members]
            waiting += [(key, one, depth + 1) for key, one in reversed(inner) if _is_name(key)]
        elif name and not isinstance(each, dict | list):
            flat[name] = each
    return flat


def _is_name(name: str) -> bool:
    """Return whether a name can be shown and declared.

    Some cannot, because a JSON escape may encode half a character.
    """
    return not any("\ud800" <= sign <= "\udfff" for sign in name)


def _trip_rows(text: bytes) -> Iterator[Record]:
    """Yield a row for each point of a trip, given as text. Raises ValueError if it is not JSON."""
    trip, decodes = parse(text)
    if not decodes:
        yield Reason.UNDECODABLE
        return
    if not isinstance(trip, dict):
        yield Reason.NOT_OBJECT
        return
    common = {name: trip.get(name) for name in WHOLE_TRIP}
    points = list(_route(trip)) or list(_ends(trip))
    for number, point in enumerate(points):
        yield {**common, **point, **({} if number else _destination(points))}
    if not points:
        yield Reason.GEOMETRY_MISSING


def _destination(points: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the last position of a trip's `points`, as the destination in the trip's first row.

    Returns {} if the trip has one point.
    """
    last = points[-1]
    ends = {f"destination_{axis}": last[axis] for axis in ("longitude", "latitude")}
    return ends if len(points) > 1 else {}


def _route(trip: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the points of a trip's route (MDS before 2.0)."""
    route = trip.get("route")
    features = route.get("features") if isinstance(route, dict) else None
    for feature in features if isinstance(features, list) else ():
        if not isinstance(feature, dict):
            continue
        geometry, properties = feature.get("geometry"), feature.get("properties")
        place = geometry.get("coordinates") if isinstance(geometry, dict) else None
        time = properties.get("timestamp") if isinstance(properties, dict) else None
        x, y = place[:2] if isinstance(place, list) and len(place) > 1 else (None, None)
        yield {"longitude": x, "latitude": y, "time": time, "point": "route"}


def _ends(trip: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the start and the end of a trip (MDS from 2.0 on)."""
    for end in ("start", "end"):
        place = trip.get(f"{end}_location")
        if isinstance(place, dict):
            time = trip.get(f"{end}_time")
            yield {
                "longitude": place.get("lng"),
                "latitude": place.get("lat"),
                "time": time,
                "point": end,
            }


LINES_READER = record_reader(open_lines)
LIST_READER = record_reader(partial(open_list, rows=_element_row))
TRIPS_READER = record_reader(partial(open_list, rows=_trip_rows, names=TRIP_NAMES))
