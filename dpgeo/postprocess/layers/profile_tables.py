"""Tables of a profile: hours by days for each zone, with colour classes, bars and margins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.released import Content, ProfileRelease
from dpgeo.core.time_slices import DAYS
from dpgeo.postprocess.layers.profile import smoothed, table_of
from dpgeo.postprocess.noise_sums import margin_of_sum

MAX_ZONES = 12
"""Largest number of zones with a table on the page; files contain all zones."""

CLASSES = 7
"""Number of colour classes, the steps of a ramp (`frontend/src/ui/tokens.css`)."""


@dataclass(frozen=True, slots=True)
class Hour:
    """The noisy count of one hour of the week, and its smoothed estimate.

    `step` is the index of its colour class, or None if its cell is hatched because the count may
    be just noise.
    """

    title: str
    value: int
    smoothed: float
    step: int | None


@dataclass(frozen=True, slots=True)
class Part:
    """A sum of counts over days or hours, its margin, and its bar's length `size`, at most 100."""

    title: str
    value: int
    margin: int
    size: float

    @property
    def top(self) -> float:
        """The position of a vertical bar's upper end, from 0 (top) to 100 (bottom), as in SVG."""
        return round(100 - self.size, 1)


@dataclass(frozen=True, slots=True)
class ZoneProfile:
    """The counts of a zone by day and hour of the week. `rows` holds each day with its hours.

    `days` and `hours` hold the sum of the measured counts of each day and of each hour. If time is
    divided by days alone, `rows` and `hours` are empty; if by hours alone, `rows` and `days`.
    """

    name: str
    rows: tuple[tuple[Part, tuple[Hour, ...]], ...]
    days: tuple[Part, ...]
    hours: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """The profiles of zones, with the margin of a count and the lower edges of colour classes."""

    zones: tuple[ZoneProfile, ...]
    left_out: int
    margin: int
    edges: tuple[int, ...]
    time_zone: str


def zone_profile(content: Content) -> Profile | None:
    """Return the tables of a weekly profile, which holds counts of zones by part of the week.

    Zones with high counts come first. Returns None for a release with other content.
    """
    if not isinstance(content, ProfileRelease):
        return None
    order = np.argsort(-content.counts.sum(axis=1), kind="stable")[:MAX_ZONES].tolist()
    estimates = {zone: smoothed(content, zone) for zone in order}
    edges = _edges(np.concatenate(list(estimates.values())), content)
    return Profile(
        zones=tuple(_zone(content, zone, estimates[zone], edges) for zone in order),
        left_out=len(content.zones) - len(order),
        margin=content.noise.margin(),
        edges=edges,
        time_zone=content.time_zone,
    )


def _edges(values: NDArray[np.float64], content: ProfileRelease) -> tuple[int, ...]:
    """Return the lower edges of the colour classes.

    Edges are a constant factor apart, from the threshold on, and rounded.
    """
    low = max(float(content.noise.threshold()), 1.0)
    high = max(float(values.max(initial=0.0)), low)
    edges = [low * (high / low) ** (step / CLASSES) for step in range(CLASSES)]
    return tuple(dict.fromkeys(round(float(f"{edge:.2g}")) for edge in edges))


def _zone(
    content: ProfileRelease, zone: int, estimate: NDArray[np.float64], edges: Sequence[int]
) -> ZoneProfile:
    table, name = table_of(content, zone), content.zones.names[zone]
    if table.shape != (len(DAYS), 24):
        parts = _parts(content.titles, table[0], content.noise.margin())
        by_day = len(parts) == len(DAYS)
        return ZoneProfile(name, (), parts if by_day else (), () if by_day else parts)
    days = _parts(DAYS, table.sum(axis=1), margin_of_sum({content.noise: 24}))
    clock = [f"{hour:02}:00" for hour in range(24)]
    hours = _parts(clock, table.sum(axis=0), margin_of_sum({content.noise: 7}))
    cells = [
        Hour(title, int(value), float(guess), _step(int(value), float(guess), content, edges))
        for title, value, guess in zip(content.titles, table.ravel(), estimate, strict=True)
    ]
    rows = tuple((day, tuple(cells[24 * at : 24 * at + 24])) for at, day in enumerate(days))
    return ZoneProfile(name, rows, days, hours)


def _step(value: int, guess: float, content: ProfileRelease, edges: Sequence[int]) -> int | None:
    """Return the colour class of an hour; None if its count `value` may be just noise.

    `guess` is the estimate of the count, and `edges` are the lower edges of the classes.
    """
    if value < content.noise.threshold():
        return None
    step = max(0, int(np.searchsorted(edges, guess, side="right")) - 1)
    return step * (CLASSES - 1) // max(1, len(edges) - 1)


def _parts(titles: Sequence[str], values: NDArray[np.int64], margin: int) -> tuple[Part, ...]:
    most = max(int(values.max(initial=0)), 1)
    return tuple(
        Part(title, int(value), margin, round(max(0.0, 100 * int(value) / most), 1))
        for title, value in zip(titles, values, strict=True)
    )
