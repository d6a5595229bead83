"""Slices: public divisions of a map by local time, by a declared category, or by both."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Self

from dpgeo.core.categories import MAX_SLICES, Category
from dpgeo.core.errors import InvalidInput
from dpgeo.core.parameters import param
from dpgeo.core.time_slices import TIME_SLICES, TimeSlices
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.near_places import NearPlaces
from dpgeo.spatial.zones import Zones

ALL_TIMES = "all times"
"""Value of the parameter `slices` for which a map is not divided by time."""

MAX_KEY_LENGTH = 30
"""Largest number of characters of a category's value that are used in a slice's key."""


@dataclass(frozen=True, slots=True)
class SliceNames:
    """Names of a release's slices: their keys in files, and their titles on pages.

    `values` are the titles of the category's values, or () without a category; `times` are the
    titles of the times of day or week, or () if the release is not divided by time. Slices are
    ordered by value and, for each value, by time. `category` is the title of the category.
    `time_zone` is the zone of the local times, or "".
    """

    keys: tuple[str, ...]
    values: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    category: str = ""
    time_zone: str = ""

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the slice names described by `document`, which `to_json` made."""
        keys, values, times = (
            tuple(map(str, document[name])) for name in ("keys", "values", "times")
        )
        return cls(keys, values, times, str(document["category"]), str(document["time_zone"]))

    def to_json(self) -> dict[str, Any]:
        """Return the slice names as a JSON object."""
        return {
            "keys": list(self.keys),
            "values": list(self.values),
            "times": list(self.times),
            "category": self.category,
            "time_zone": self.time_zone,
        }

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def parts(self) -> tuple[tuple[str, str], ...]:
        """For each slice, the titles of its category value and its time, "" where it has none."""
        return tuple(product(self.values or ("",), self.times or ("",)))

    @property
    def titles(self) -> tuple[str, ...]:
        """The title of each slice, such as "walk, 06:00 to 12:00"; values contain no comma."""
        return tuple(", ".join(filter(None, part)) for part in self.parts)


UNDIVIDED = SliceNames(())
"""The slice names of a release that is not divided into slices: there are none."""


@dataclass(frozen=True, slots=True)
class Slicing:
    """A division of records into slices by local time, by the value of a category, or by both.

    A record without a time is in no slice of time. Which slice a record is in depends on that
    record's row alone, and no record is in two slices.
    """

    times: TimeSlices | None = None
    time_zone: str = ""
    category: Category | None = None

    def __len__(self) -> int:
        return (len(self.category) if self.category else 1) * (len(self.times) if self.times else 1)

    @property
    def names(self) -> SliceNames:
        """The keys and titles of the slices."""
        times = self.times
        values = self.category.keys if self.category else ()
        return SliceNames(
            keys=tuple(
                "-".join(filter(None, (value, time)))
                for value in [value_key(*each) for each in enumerate(values, 1)] or [""]
                for time in (times.keys if times else ("",))
            ),
            values=self.category.titles if self.category else (),
            times=times.titles if times else (),
            category=self.category.title if self.category else "",
            time_zone=self.time_zone if times else "",
        )


def value_key(number: int, value: str) -> str:
    """Return the part of a slice's key for a category's value, such as "2-bike-fast".

    `number` is the value's code; it keeps the keys of similar values distinct.
    """
    plain = unicodedata.normalize("NFKD", value).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "-", plain)[:MAX_KEY_LENGTH].strip("-")
    return f"{number}-{words}".rstrip("-")


@dataclass(frozen=True, slots=True)
class SlicedGrid:
    """The cells of a grid in every slice, indexed slice by slice."""

    grid: Grid
    slices: Slicing

    @property
    def size(self) -> int:
        """Total number of cells in all slices."""
        return len(self.slices) * self.grid.size

    @property
    def shape(self) -> tuple[int, int, int]:
        """Number of slices, rows and columns."""
        return (len(self.slices), *self.grid.shape)


@dataclass(frozen=True, slots=True, eq=False)
class SlicedZones:
    """Declared zones, or places with their reach, in every slice, indexed slice by slice."""

    zones: Zones | NearPlaces
    slices: Slicing

    def __len__(self) -> int:
        return len(self.slices) * len(self.zones)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of slices and of zones."""
        return (len(self.slices), len(self.zones))


def slices_param(*, optional: bool = False) -> Any:
    """Declare the parameter `slices`, which names a division of time.

    If `optional`, it may also be ALL_TIMES, which is then the default.
    """
    names = [*([ALL_TIMES] if optional else []), *TIME_SLICES]
    return param(
        names[0],
        "How local time is divided: parts of the day of this many hours, days of the week, or "
        "working days and weekends.",
        choices=names,
    )


def slicing(times: str, category: Category | None, time_zone: str) -> Slicing | None:
    """Return the division into slices by `category` and `times`; None if there is neither.

    `times` is a name in TIME_SLICES, or ALL_TIMES. `time_zone` is the dataset's time zone, or "" if
    it has no times. Raises InvalidInput if the division needs times that the dataset lacks, or has
    too many slices.
    """
    divided = None if times == ALL_TIMES else TIME_SLICES[times]
    if divided and not time_zone:
        raise InvalidInput(
            "This dataset has no time column. Choose all times or another mechanism, or declare a "
            "dataset whose file has one.",
            field="slices",
        )
    if not divided and not category:
        return None
    slices = Slicing(divided, time_zone if divided else "", category)
    if len(slices) > MAX_SLICES:
        raise InvalidInput(
            "This makes {count} slices, more than {most}; divide time into fewer parts, or choose "
            "a category with fewer values.",
            count=len(slices),
            most=MAX_SLICES,
            field="category",
        )
    return slices
