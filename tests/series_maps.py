"""Published series of an invented city, stored without data, jobs or draws."""

from __future__ import annotations

import dataclasses
from datetime import date

import numpy as np

from dpgeo.core.epsilon import to_micro
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.released import GridRelease, Released, ZonesRelease
from dpgeo.core.series import Part, Period
from dpgeo.releases.models import Release, Series
from tests.maps import install

FIRST = date(2026, 1, 5)
"""A Monday."""


def install_series(first: Released, maps: int, *, title: str = "Week by week") -> Series:
    """Store a series of weekly maps; all count in the regions of the first.

    Every second map has the same true counts as the first; in the maps between, some people have
    moved from the fullest region to the last one. All maps have independent noise. Only the newest
    map has files.
    """
    newest = _install(None, first, 1, title, files=maps == 1)
    series = Series.objects.create(
        dataset=newest.dataset,
        title=title,
        description="Phones seen for ten minutes or more.",
        mechanism=first.mechanism,
        counting=first.counting.value,
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
        days = {"from_day": str(window.first), "to_day": str(window.last)}
        about = {**released.about, **days, **part.facts(), "time_zone": "UTC"}
        released = dataclasses.replace(released, about=about)
    release = install(released, f"{title}, week {number}", files=files)
    if series is not None:
        _place(release, series, number)
    return release


def _place(release: Release, series: Series, number: int) -> None:
    window = series.window(number)
    release.series, release.number = series, number
    release.from_day, release.to_day = window.first, window.last
    release.save()


def _changed(first: Released, number: int) -> Released:
    content = first.content
    assert isinstance(content, (GridRelease, ZonesRelease))
    counts = content.counts.copy().ravel()
    used = np.flatnonzero(counts)
    if number % 2 == 0:
        fullest = used[np.argmax(counts[used])]
        moved = counts[fullest] // 2
        counts[fullest] -= moved
        counts[used[-1]] += moved
    counts[used] += _noise(content.noise, used.size, number)
    changed = dataclasses.replace(content, counts=counts.reshape(content.counts.shape))
    return dataclasses.replace(first, content=changed)


def _noise(
    noise: DiscreteLaplace, size: int, seed: int
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    generator = np.random.default_rng(seed)
    share = -np.expm1(-float(noise.rate))
    return generator.geometric(share, size) - generator.geometric(share, size)
