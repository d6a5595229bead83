"""Reader of GPX, TCX and KML that uses expat and handles one event at a time.

A document type declaration is refused, and with it every entity that could refer to a file or grow
without bound. An XML document that is not well-formed is refused as a whole, since a broken point
might absorb points of other people (see `geojson_reader`). Otherwise each point is one row,
independent of the other points.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from xml.parsers import expat

from dpgeo.core.errors import InvalidInput
from dpgeo.ingest.layout import Layout
from dpgeo.ingest.records import Record, Table, record_reader
from dpgeo.ingest.report import MAX_FIELD_BYTES, MAX_LINE_BYTES, Reason

BLOCK_BYTES = 1 << 16
MAX_DEPTH = 64
MAX_NAMES = 1_000
GPX_NAMES = ["latitude", "longitude", "time", "track", "name", "elevation", "kind"]
TCX_VALUES = {
    "LatitudeDegrees": "latitude",
    "LongitudeDegrees": "longitude",
    "Time": "time",
    "AltitudeMeters": "elevation",
}
TCX_NAMES = [*TCX_VALUES.values(), "activity"]
GPX_POINTS = {"wpt": "waypoint", "rtept": "route", "trkpt": "track"}


class Points:
    """Collector of a document's points; each subclass handles one format."""

    def __init__(self) -> None:
        self.found: deque[Record] = deque()
        self.path: list[str] = []
        self.text: list[str] = []
        self.length = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element. Raises InvalidInput if it is nested too deeply."""
        self.path.append(name.rpartition(":")[2])
        if len(self.path) > MAX_DEPTH:
            raise _unreadable()
        self.text.clear()
        self.length = 0
        self.enter(attributes)

    def end(self, name: str) -> None:
        """Handle the end of an element."""
        text = "".join(self.text).strip() if self.length <= MAX_LINE_BYTES else None
        self.leave(text)
        self.path.pop()
        self.text.clear()
        self.length = 0

    def characters(self, text: str) -> None:
        """Handle a piece of an element's text."""
        self.length += len(text)
        if self.length <= MAX_LINE_BYTES:
            self.text.append(text)

    def enter(self, attributes: dict[str, str]) -> None:
        """Handle an element's attributes when it starts; `path` ends with the element's name."""

    def leave(self, text: str | None) -> None:
        """Handle an element's text when it ends; `text` is None if it is far too long."""


class GpxPoints(Points):
    """Points of GPX: waypoints, and points of routes and tracks with the name of their track."""

    def __init__(self) -> None:
        super().__init__()
        self._point: dict[str, Any] | None = None
        self._track = ""

    def enter(self, attributes: dict[str, str]) -> None:
        """Begin a point or a track when its element starts."""
        name = self.path[-1]
        if name in {"trk", "rte"}:
            self._track = ""
        elif name in GPX_POINTS and self._point is None:
            self._point = {
                "latitude": attributes.get("lat"),
                "longitude": attributes.get("lon"),
                "track": self._track or None,
                "kind": GPX_POINTS[name],
            }

    def leave(self, text: str | None) -> None:
        """Record a value of the current point, or finish the point, when an element ends."""
        name, parent = self.path[-1], self.path[-2] if len(self.path) > 1 else ""
        if parent in {"trk", "rte"} and name == "name":
            self._track = (text or "")[:MAX_FIELD_BYTES]
        elif self._point is None:
            return
        elif name in GPX_POINTS:
            self.found.append(self._point)
            self._point = None
        elif parent in GPX_POINTS and name in {"time", "ele", "name"}:
            self._point["elevation" if name == "ele" else name] = text


class TcxPoints(Points):
    """Track points of Garmin's TCX, with the time at which their activity began."""

    def __init__(self) -> None:
        super().__init__()
        self._point: dict[str, Any] = {}
        self._activity = ""

    def enter(self, attributes: dict[str, str]) -> None:
        """Begin a track point or an activity when its element starts."""
        name = self.path[-1]
        if name == "Trackpoint":
            self._point = {"activity": self._activity or None}
        elif name == "Activity":
            self._activity = ""

    def leave(self, text: str | None) -> None:
        """Record a value of the current point, or finish the point, when an element ends."""
        name, parent = self.path[-1], self.path[-2] if len(self.path) > 1 else ""
        if name == "Trackpoint":
            self.found.append(self._point)
        elif (parent, name) == ("Activity", "Id"):
            self._activity = (text or "")[:MAX_FIELD_BYTES]
        elif parent in {"Trackpoint", "Position"} and name in TCX_VALUES:
            self._point[TCX_VALUES[name]] = text


class KmlPoints(Points):
    """Points of KML: placemarks with a point, and positions of tracks with the tracks' times.

    The first time of a track belongs to its first position, and so on. A position without a time of
    its own gets none, so that no position decides about the time of another. The time stamp of a
    placemark applies to all its points.
    """

    def __init__(self) -> None:
        super().__init__()
        self._mark: dict[str, Any] | None = None
        self._places: list[str | None] = []
        self._times: list[str | None] = []
        self._stamp: str | None = None
        self._data = ""
        self._other = False

    def enter(self, attributes: dict[str, str]) -> None:
        """Begin a placemark, a track, or a named value of a placemark when its element starts."""
        name = self.path[-1]
        if name == "Placemark":
            self._mark, self._places, self._times, self._other = {}, [], [], False
            self._stamp = None
        elif name == "Track":
            self._match()
        elif name in {"Data", "SimpleData"}:
            self._data = attributes.get("name", "")[:MAX_FIELD_BYTES]

    def leave(self, text: str | None) -> None:
        """Record a value of the current placemark, or finish it, when an element ends."""
        if self._mark is None:
            return
        name, parent = self.path[-1], self.path[-2] if len(self.path) > 1 else ""
        if name == "Placemark":
            self._finish(self._mark)
            self._mark = None
        elif name == "coordinates":
            if parent == "Point":
                self._places.append(text)
            else:
                self._other = True
        elif name == "coord":
            self._places.append(text and text.replace(" ", ","))
        elif name == "when" and parent == "TimeStamp":
            self._stamp = text
        elif name == "when":
            self._times.append(text)
        elif parent == "Placemark" and name in {"name", "description"}:
            self._mark[name] = text
        elif name in {"value", "SimpleData"} and self._data and len(self._mark) < MAX_NAMES:
            self._mark[self._data] = text

    def _finish(self, mark: dict[str, Any]) -> None:
        if not self._places:
            missing = Reason.GEOMETRY_NOT_POINT if self._other else Reason.GEOMETRY_MISSING
            self.found.append(missing)
        self._match()
        for place, own_time in zip(self._places, self._times, strict=True):
            parts = (place or "").split(",")
            if not 2 <= len(parts) <= 3:
                self.found.append(Reason.GEOMETRY_UNREADABLE)
                continue
            time = self._stamp if own_time is None else own_time
            own = {"latitude": parts[1].strip(), "longitude": parts[0].strip(), "time": time}
            self.found.append({**mark, **own})

    def _match(self) -> None:
        """Give each position of the track its time, or None if the file has no time for it."""
        lacking = len(self._places) - len(self._times)
        self._times = [*self._times, *[None] * lacking][: len(self._places)]


def _unreadable() -> InvalidInput:
    return InvalidInput(
        "The document is not well-formed XML, is nested too deeply or declares a document type; "
        "nothing of it was stored. Export it again.",
        field="file",
    )


@contextmanager
def open_document(
    path: Path, layout: Layout | None, *, points: Callable[[], Points], names: list[str] | None
) -> Iterator[Table]:
    """Open a GPX, TCX or KML document as a table of records.

    `points` creates the collector of its points (`Points`). `names` are the columns, or None if
    they are not known in advance.
    """
    total = path.stat().st_size
    with path.open("rb") as file:
        yield Table(names, _records(file, points()), file.tell, total)


def _records(file: Any, points: Points) -> Iterator[Record]:
    """Yield the points of a document as records. Raises InvalidInput."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = points.start
    parser.EndElementHandler = points.end
    parser.CharacterDataHandler = points.characters
    parser.StartDoctypeDeclHandler = _refuse_document_type
    try:
        while True:
            block = file.read(BLOCK_BYTES)
            parser.Parse(block, not block)
            while points.found:
                yield points.found.popleft()
            if not block:
                return
    except expat.ExpatError as error:
        raise _unreadable() from error


def _refuse_document_type(*_: object) -> None:
    raise _unreadable()


GPX_READER = record_reader(partial(open_document, points=GpxPoints, names=GPX_NAMES))
TCX_READER = record_reader(partial(open_document, points=TcxPoints, names=TCX_NAMES))
KML_READER = record_reader(partial(open_document, points=KmlPoints, names=None))
