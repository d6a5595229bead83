"""Published series of an invented city, stored without data, jobs or draws."""

from __future__ import annotations

import dataclasses
from datetime import date
from typing import Any

import numpy as np

from dpgeo.core.epsilon import to_micro
from dpgeo.core.noise import CountNoise
from dpgeo.core.released import (
    FlowsRelease,
    GridRelease,
    PlacesRelease,
    Released,
    SparseRelease,
    ZonesRelease,
)
from dpgeo.core.series import Part, Period
from dpgeo.core.window import Window
from dpgeo.releases.models import Release, Series
from tests.maps import install
from tests.noise import laplace

FIRST = date(2026, 1, 5)
"""A Monday."""


def install_series(first: Released, maps: int, *, title: str = "Week by week") -> Series:
    """Store a series of weekly maps; all count in the regions of the first.

    Apart from noise, maps with odd numbers have the counts of the first. In maps with even numbers,
    half of the people in the fullest region have moved to the last one (to the first one if the
    fullest is the last); of flows, the largest is halved. All maps have independent noise. Only the
    newest map has files.
    """
    newest = _install(None, first, 1, title, files=maps == 1)
    series = Series.objects.create(
        dataset=newest.dataset,
        title=title,
        description="Phones seen for ten minutes or more.",
        request=first.request,
        period=Period.WEEK.value,
        first_day=FIRST,
        protection="person",
        each=2,
        most=first.bound,
        epsilon_units=to_micro(first.guarantee.epsilon),
        drawn=maps,
        salt=b"s" * 16,
    )
    _place(newest, series, 1)
    for number in range(2, maps + 1):
        later = _changed(first, number)
        _install(series, later, number, title, files=number == maps)
    return series


def _install(
    series: Series | None, released: Released, number: int, title: str, *, files: bool
) -> Release:
    if series is not None:
        window = series.window(number)
        part = Part(str(series.pk), series.title, number, series.first_day, series.terms)
        about = {**released.about, **_days(released, window), **part.facts(), "time_zone": "UTC"}
        released = dataclasses.replace(released, about=about)
    release = install(released, f"{title}, week {number}", files=files)
    if series is not None:
        _place(release, series, number)
    return release


def _days(released: Released, window: Window) -> dict[str, str]:
    days = {"from_day": window.first, "to_day": window.last}
    return {"request": released.request.model_copy(update=days).model_dump_json()}


def _place(release: Release, series: Series, number: int) -> None:
    window = series.window(number)
    release.series, release.number = series, number
    days = {"from_day": window.first, "to_day": window.last}
    release.request = release.request.model_copy(update=days)
    release.save()


def _changed(first: Released, number: int) -> Released:
    content = first.content
    if isinstance(content, FlowsRelease):
        return dataclasses.replace(first, content=_changed_flows(content, number))
    assert isinstance(content, (GridRelease, ZonesRelease, PlacesRelease, SparseRelease))
    counts = content.counts.copy().ravel()
    used = np.flatnonzero(counts)
    if number % 2 == 0:
        fullest = used[np.argmax(counts[used])]
        moved = counts[fullest] // 2
        counts[fullest] -= moved
        counts[used[-1] if used[-1] != fullest else used[0]] += moved
    counts[used] += _noise(content.noise, used.size, number)
    changes: dict[str, Any] = {"counts": counts.reshape(content.counts.shape)}
    if isinstance(content, SparseRelease):
        listed = counts >= content.threshold
        changes = {"counts": counts[listed], "cells": content.cells[listed]}
    return dataclasses.replace(first, content=dataclasses.replace(content, **changes))


def _changed_flows(content: FlowsRelease, number: int) -> FlowsRelease:
    """Return the flows of map `number`, with new noise; in even maps, the largest is halved."""
    pairs, arriving = content.pairs.copy(), content.arriving.copy()
    if number % 2 == 0:
        largest = int(np.argmax(pairs))
        moved = pairs[largest] // 2
        pairs[largest] -= moved
        arriving[0, largest % len(content.zones)] -= moved
    pairs += _noise(content.noise, pairs.size, number)
    return dataclasses.replace(content, pairs=pairs, arriving=arriving)


def _noise(noise: CountNoise, size: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    generator = np.random.default_rng(seed)
    share = -np.expm1(-float(laplace(noise).rate))
    return generator.geometric(share, size) - generator.geometric(share, size)
