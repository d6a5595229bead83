"""Exports of phones: Google's Timeline, as Android and iOS write it, and recordings of OwnTracks.

A segment of the Timeline becomes one row for each of its positions. It is one stretch of one
person's time, so no row depends on another person. These files name nobody: each is one person's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from dpgeo.ingest.geojson_reader import parse
from dpgeo.ingest.json_records import Row, flatten, open_lines, open_list
from dpgeo.ingest.layout import Layout
from dpgeo.ingest.records import Record, Table, record_reader
from dpgeo.ingest.report import Reason

SEGMENTS = "semanticSegments"
LOCATIONS = "locations"
TIMELINE_NAMES = ["position", "time", "kind"]


def _segment_rows(text: bytes) -> Iterator[Record]:
    """Yield a row for each position of a segment. Raises ValueError if the text is not JSON."""
    segment, decodes = parse(text)
    if not decodes:
        yield Reason.UNDECODABLE
        return
    if not isinstance(segment, dict):
        yield Reason.NOT_OBJECT
        return
    for position, time, kind in _positions(segment):
        yield {"position": position.removeprefix("geo:"), "time": time, "kind": kind}


def _positions(segment: Mapping[str, Any]) -> Iterator[tuple[str, object, str]]:
    """Yield the positions of a segment, the times of them and what they are."""
    start, end = segment.get("startTime"), segment.get("endTime")
    path = segment.get("timelinePath")
    for point in path if isinstance(path, list) else ():
        # iOS writes how many minutes after the segment's start a point was passed, not when.
        time = point.get("time", start) if isinstance(point, dict) else start
        yield from _position(point, ("point",), time, "path")
    yield from _position(segment.get("visit"), ("topCandidate", "placeLocation"), start, "visit")
    activity = segment.get("activity")
    yield from _position(activity, ("start",), start, "start")
    yield from _position(activity, ("end",), end, "end")


def _position(
    value: Any, members: tuple[str, ...], time: object, kind: str
) -> Iterator[tuple[str, object, str]]:
    """Yield the position that a member of a member holds; Android puts it into one more."""
    for member in (*members, "latLng"):
        if isinstance(value, dict):
            value = value.get(member)
    if isinstance(value, str):
        yield value, time, kind


def _recorded(text: bytes) -> bytes:
    """Return the message of a line of OwnTracks' recorder, which follows a time and a topic."""
    return text.rpartition(b"\t")[2] if text.count(b"\t") == 2 else text


def _location_row(text: bytes) -> Iterator[Record]:
    value, decodes = parse(text)
    if not decodes:
        yield Reason.UNDECODABLE
    else:
        yield flatten(value) if isinstance(value, dict) else Reason.NOT_OBJECT


def _list_reader(member: str, rows: Row, names: list[str] | None = None) -> Any:
    return record_reader(partial(open_list, rows=rows, names=names, members=(member,)))


@contextmanager
def _open_recordings(path: Path, layout: Layout | None) -> Iterator[Table]:
    with open_lines(path, layout, message=_recorded) as table:
        yield table


TIMELINE_READER = _list_reader(SEGMENTS, _segment_rows, TIMELINE_NAMES)
LOCATIONS_READER = _list_reader(LOCATIONS, _location_row)
RECORDINGS_READER = record_reader(_open_recordings)
