"""Time slices: public divisions of the local week."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

HOURS_A_WEEK = 7 * 24

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True)
class TimeSlices:
    """A division of the local week into slices.

    `keys` (s,) are the names of the slices in files, and `titles` (s,) are their titles on pages.
    `of_hour` (168,) is the index of the slice for each hour of the week, starting on Monday at
    00:00, so every time is in exactly one slice. Raises ValueError if a slice has no hour, an hour
    has no slice, or the numbers of keys and titles differ.
    """

    keys: tuple[str, ...]
    titles: tuple[str, ...]
    of_hour: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.of_hour) != HOURS_A_WEEK:
            raise ValueError("A week has 168 hours.")
        if len(self.titles) != len(self.keys):
            raise ValueError("Every key has a title.")
        if set(self.of_hour) != set(range(len(self.keys))):
            raise ValueError("Every slice has an hour, and every hour a slice.")

    def __len__(self) -> int:
        return len(self.keys)


def _hours(length: int) -> TimeSlices:
    """Return the division of every day into slices of `length` hours."""
    starts = range(0, 24, length)
    return TimeSlices(
        tuple(f"{start:02}-{start + length:02}" for start in starts),
        tuple(f"{start:02}:00 to {start + length:02}:00" for start in starts),
        tuple(hour % 24 // length for hour in range(HOURS_A_WEEK)),
    )


def _days(keys: tuple[str, ...], titles: tuple[str, ...], of: Callable[[int], int]) -> TimeSlices:
    """Return a division of the week into slices of whole days.

    `of` maps a day, counted from 0 for Monday, to its slice's index.
    """
    return TimeSlices(keys, titles, tuple(of(hour // 24) for hour in range(HOURS_A_WEEK)))


TIME_SLICES: Mapping[str, TimeSlices] = {
    "6 hours": _hours(6),
    "4 hours": _hours(4),
    "3 hours": _hours(3),
    "12 hours": _hours(12),
    "days of the week": _days(
        tuple(f"{number}-{day.lower()}" for number, day in enumerate(DAYS, 1)),
        DAYS,
        lambda day: day,
    ),
    "working days and weekends": _days(
        ("working-days", "weekends"),
        ("Monday to Friday", "Saturday and Sunday"),
        lambda day: int(day >= 5),
    ),
}
"""The divisions of a week, by their names in forms and the API."""


def _hours_of_the_week() -> TimeSlices:
    """Return the division of the week into its hours."""
    hours = [(day, hour) for day in range(7) for hour in range(24)]
    return TimeSlices(
        tuple(f"{day + 1}-{DAYS[day].lower()}-{hour:02}" for day, hour in hours),
        tuple(f"{DAYS[day]} {hour:02}:00" for day, hour in hours),
        tuple(range(HOURS_A_WEEK)),
    )


PARTS: Mapping[str, TimeSlices] = {
    "hours of the week": _hours_of_the_week(),
    "hours of the day": _hours(1),
    "days of the week": TIME_SLICES["days of the week"],
}
"""The parts into which profiles divide a week, by their names in forms and the API."""
