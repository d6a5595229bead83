"""The time slices of maps by time, read from the names of their layers."""

from __future__ import annotations

import re
from typing import NamedTuple

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

SPANS = {"working-days": ("Monday", "Friday"), "weekends": ("Saturday", "Sunday")}

MECHANISMS = ("time-slices", "auto-by-time", "flows")

PREFIXES = ("cells-", "estimate-", "flows-")
"""How names of slices' layers begin: for counts of cells, estimates of cells, and flows."""


class Slice(NamedTuple):
    """One slice of local time: its layer's name, its title, its start and its end.

    Start and end are times such as "06:00" if the slice recurs every day, and such as "Monday
    00:00" if it recurs every week. The end is exclusive and may be "24:00".
    """

    layer: str
    title: str
    start: str
    end: str


def is_slice(layer: str) -> bool:
    """Return whether a layer of a map by time is one of its slices, judged by the layer's name."""
    return layer.startswith(PREFIXES)


def read_slice(layer: str, title: str) -> Slice:
    """Return the slice that a layer's name stands for: "cells-06-12" is 06:00 to 12:00 every day.

    Inferred slices have names such as "estimate-06-12". The slice's start and end are "" if this
    version of the client does not recognise the name.
    """
    key = layer
    for prefix in PREFIXES:
        key = key.removeprefix(prefix)
    if hours := re.fullmatch(r"(\d\d)-(\d\d)", key):
        return Slice(layer, title, f"{hours[1]}:00", f"{hours[2]}:00")
    if day := re.fullmatch(r"[1-7]-([a-z]+)", key):
        first = last = day[1].capitalize()
    else:
        first, last = SPANS.get(key, ("", ""))
    if first not in DAYS:
        return Slice(layer, title, "", "")
    return Slice(layer, title, f"{first} 00:00", f"{last} 24:00")
