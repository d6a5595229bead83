"""Fast reading of GeoJSON features that have the same shape, without parsing each as JSON.

Programs write all features of a file alike: the same members in the same order, with other values.
One record serves as the pattern: its text is divided into fixed texts and the values between them.
If another record has exactly the same fixed texts, with plain strings and plain numbers between
them, it is JSON with the same members. Its values can therefore be cut out by position, for a whole
block at once. All other records are left to the JSON parser. The parser would read the same values
from the records that were cut, so the choice of the pattern changes no row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dpgeo.ingest.csv_lines import Spans
from dpgeo.ingest.report import MAX_FIELD_BYTES
from dpgeo.ingest.schema import Role
from dpgeo.ingest.text import cut_text, mask, text_bytes

Path = tuple[str | int, ...]

TOKEN = re.compile(
    rb'[ \t\r\n]*(?:"(?P<text>[^"\\]*)"|(?P<number>-?[0-9][0-9.]*)|(?P<word>true|false|null)'
    rb"|(?P<mark>[\[\]{}:,]))"
)
FIXED: dict[Path, str] = {("type",): "Feature", ("geometry", "type"): "Point"}
"""Values that some members must have in every record, by the member's path.

They are part of the text that all records of a `Shape` share, and are not cut out as values.
"""

COORDINATES: tuple[Path, Path] = (("geometry", "coordinates", 0), ("geometry", "coordinates", 1))
IN_NUMBERS: NDArray[np.bool_] = np.isin(np.arange(256), list(b"0123456789.-"))
IS_DIGIT: NDArray[np.bool_] = np.isin(np.arange(256), list(b"0123456789"))
MOST_PLAIN = 17

NUMBER = r"^-?(?:0|[1-9][0-9]{0,16})(?:\.[0-9]{1,17})?$"
"""Matches JSON numbers that Arrow and Python read as the same double, apart from -0."""

AS_WRITTEN = r"^-?(?:(?:0|[1-9][0-9]{0,16})|(?:0|[1-9][0-9]{0,9})\.(?:0|[0-9]{0,3}[1-9]))$"
"""Matches numbers in a file that Python would write with the same characters, apart from -0."""

WHOLE = r"^-?(?:0|[1-9][0-9]{0,16})$"


@dataclass(frozen=True, slots=True)
class Shape:
    """What records written alike have in common: all of their text except some values.

    `fixed` are the texts before, between and after these values, in order, and `paths` are the
    paths of the values. `texts` says which of the values are strings; the quotation marks around
    them belong to the fixed texts. `nulls` are the paths of members that are null in every record.
    """

    fixed: tuple[bytes, ...]
    paths: tuple[Path, ...]
    texts: tuple[bool, ...]
    nulls: frozenset[Path]


def shape_of(text: bytes) -> Shape | None:  # noqa: C901 - one small automaton
    """Return the `Shape` of a record, which must be JSON; None if the record is not simple.

    In a simple record, no string has a backslash and no object has a member twice.
    """
    fixed: list[bytes] = []
    paths: list[Path] = []
    texts: list[bool] = []
    nulls: set[Path] = set()
    names: set[Path] = set()
    stack: list[bytes] = []  # the open brackets
    path: list[str | int] = []
    is_name, place, since = False, 0, 0
    while place < len(text):
        token = TOKEN.match(text, place)
        if token is None:
            return None
        place, mark = token.end(), token["mark"]
        if mark in {b"{", b"["}:
            stack.append(mark)
            path.append("" if mark == b"{" else 0)
            is_name = mark == b"{"
        elif mark in {b"}", b"]"}:
            stack.pop()
            path.pop()
            is_name = False
        elif mark == b",":
            is_name = stack[-1] == b"{"
            if not is_name:
                path[-1] = int(path[-1]) + 1
        elif mark == b":":
            is_name = False
        elif is_name and token["text"] is not None:
            path[-1] = token["text"].decode()
            if tuple(path) in names:
                return None
            names.add(tuple(path))
        elif token["word"] is not None:
            if token["word"] == b"null":
                nulls.add(tuple(path))
        elif FIXED.get(tuple(path)) is None:
            group = "number" if token["text"] is None else "text"
            fixed.append(text[since : token.start(group)])
            paths.append(tuple(path))
            texts.append(group == "text")
            since = token.end(group)
    return Shape((*fixed, text[since:]), tuple(paths), tuple(texts), frozenset(nulls))


def columns_of(shape: Shape, wanted: Mapping[str, str]) -> dict[str, int | None] | None:
    """Return for each role the index of its value in a shape, or None if it is null or missing.

    The coordinates of a geometry have the roles of longitude and latitude. Returns None instead of
    a dictionary if another wanted value is true, false, an object or an array, or if a coordinate
    is no number.
    """
    names: dict[str, Path] = {role: ("properties", name) for role, name in wanted.items()}
    if names.pop(Role.GEOMETRY, None):
        names |= dict(zip((Role.LONGITUDE, Role.LATITUDE), COORDINATES, strict=True))
    columns: dict[str, int | None] = {}
    for role, path in names.items():
        if path in shape.paths:
            columns[role] = shape.paths.index(path)
        elif path in shape.nulls or not _occurs(path, shape):
            columns[role] = None
        else:
            return None
    numbers = [columns.get(role) for role in (Role.LONGITUDE, Role.LATITUDE)]
    if Role.GEOMETRY in wanted and any(at is None or shape.texts[at] for at in numbers):
        return None
    return columns


def _occurs(path: Path, shape: Shape) -> bool:
    """Return whether the name of the member at `path` occurs in the fixed texts of a shape.

    If so, its value may be part of a fixed text too: true, false, an object or an array.
    """
    return f'"{path[-1]}"'.encode("utf-8", "replace") in b'""'.join(shape.fixed)


def find_alike(
    records: Spans, shape: Shape, columns: Mapping[str, int | None], possible: NDArray[np.int64]
) -> tuple[NDArray[np.int64], dict[str, Any]]:
    """Return the ascending indices (m,) of the records with this shape, and their fields by role.

    `possible` are the indices of the records to try, all of them UTF-8 without backslashes.
    Coordinates are float64; other fields are binary.
    """
    data = np.frombuffer(records.block, dtype=np.uint8)
    stops: dict[int, NDArray[np.int64]] = {}
    live, place = possible, records.starts[possible]
    spans: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    for index, fixed in enumerate(shape.fixed):
        after = place + len(fixed)
        last = index == len(shape.paths)
        ends = records.ends[live]
        good = after == ends if last else after < ends
        windows: NDArray[np.bytes_] = np.ndarray(
            (len(data) - len(fixed) + 1,), f"S{len(fixed)}", records.block, strides=(1,)
        )
        good[good] = windows[place if good.all() else place[good]] == fixed
        place = after
        if not good.all():
            live, place = live[good], place[good]
            spans = [(start[good], end[good]) for start, end in spans]
        if not last:
            # The value ends where the first byte of the next fixed text occurs next: plain strings
            # and numbers do not contain that byte.
            end = _next(shape.fixed[index + 1][0], data, place, stops)
            spans.append((place, end))
            place = end
    values: dict[int, Any] = {}
    good_rows = np.ones(len(live), dtype=bool)
    roles = {at: role for role, at in columns.items() if at is not None}
    for index, (start, end) in enumerate(spans):
        if shape.texts[index]:
            if index in roles:
                good_rows &= end - start <= MAX_FIELD_BYTES
        else:
            values[index] = cut_text(records.block, start, end)
            pattern = _pattern(roles.get(index), shape.paths[index])
            good_rows &= _match(values[index], pattern, data, start, end)
    chosen = np.flatnonzero(good_rows)
    fields: dict[str, Any] = {}
    for role, at in columns.items():
        if at is None:
            fields[role] = pa.nulls(len(chosen), pa.binary())
            continue
        start, end = spans[at]
        if at in values:
            cut = values[at] if len(chosen) == len(live) else values[at].take(pa.array(chosen))
        else:
            cut = cut_text(records.block, start[chosen], end[chosen])
        fields[role] = cut.cast(pa.float64() if not _is_property(shape.paths[at]) else pa.binary())
    return live[chosen], fields


def _next(
    mark: int,
    data: NDArray[np.uint8],
    place: NDArray[np.int64],
    known: dict[int, NDArray[np.int64]],
) -> NDArray[np.int64]:
    """Return, for each index in `place`, where the byte `mark` next occurs in `data` from there on.

    `known` caches all positions of a byte. The result is the length of `data` if there is none.
    """
    if mark not in known:
        known[mark] = np.append(np.flatnonzero(data == mark), len(data))
    return known[mark][np.searchsorted(known[mark], place)]


def _match(
    texts: Any,
    pattern: str,
    data: NDArray[np.uint8],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Return a mask (n,) of the texts that match a pattern of numbers and are not "-0"."""
    if pattern is NUMBER and _are_numbers(data, start, end, texts):
        return np.ones(len(start), dtype=bool)
    return mask(pc.match_substring_regex(texts, pattern)) & ~mask(pc.equal(texts, "-0"))


def _are_numbers(
    data: NDArray[np.uint8], start: NDArray[np.int64], end: NDArray[np.int64], texts: Any
) -> bool:
    """Return True if all texts match NUMBER and none is -0; False if not, or if unsure.

    `texts` (n,) are the pieces of `data` from `start` to `end`. Of texts made of digits, points and
    signs, Arrow parses those with a digit, at most one point, and a sign only at the beginning. The
    other rules of JSON are tested at both ends of each text. Matching a pattern would take four
    times as long.
    """
    characters, _ = text_bytes(texts)
    if not len(start) or not IN_NUMBERS[characters].all():
        return False
    first = start + (data[start] == ord("-"))
    size = end - first
    # NUMBER allows 17 digits on either side of the decimal point. Texts of at most MOST_PLAIN
    # characters cannot have more.
    if size.min() < 1 or size.max() > MOST_PLAIN or (end - start).max() > MOST_PLAIN:
        return False
    leading = np.flatnonzero(data[first] == ord("0"))
    decimal = data[first[leading] + 1] == ord(".")
    negative = first[leading] > start[leading]
    if not np.where(size[leading] == 1, ~negative, decimal).all():
        return False
    if not (IS_DIGIT[data[first]].all() and IS_DIGIT[data[end - 1]].all()):
        return False
    try:
        texts.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _is_property(path: Sequence[str | int]) -> bool:
    return path[0] == "properties"


def _pattern(role: str | None, path: Path) -> str:
    """Return the pattern that a number at `path` must match to be read without a JSON parser.

    `role` is the number's role, or None if it has none.

    The coordinates of a geometry become numbers, however they are written. A property is read as
    text, so it must be written as the parser would give it: "412.5", not "412.500".
    """
    if role is Role.PERSON:
        return WHOLE
    return NUMBER if role is None or not _is_property(path) else AS_WRITTEN
