"""Windows of days."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from dpgeo.core.errors import InvalidInput
from dpgeo.core.window import Window


def test_it_is_written_as_two_days_or_left_out() -> None:
    days = Window(date(2026, 1, 1), date(2026, 1, 31))
    assert Window.parse("2026-01-01", "2026-01-31") == days
    assert Window.parse(date(2026, 1, 1), date(2026, 1, 31)) == days
    assert Window.parse("", None) is None


@pytest.mark.parametrize(
    ("first", "last", "field"),
    [
        ("2026-01-01", "", "to_day"),
        (None, "2026-01-01", "from_day"),
        ("2026-01-02", "2026-01-01", "to_day"),
        ("yesterday", "2026-01-01", "from_day"),
        ("2026-01-01", "2026-02-30", "to_day"),
        ("2026-01-01", 20260201, "to_day"),
        (datetime(2026, 1, 1, tzinfo=UTC), "2026-01-02", "from_day"),
        ("0001-01-01", "2026-01-01", "from_day"),
        ("2026-01-01", "9999-12-31", "to_day"),
    ],
)
def test_anything_else_is_refused_at_its_field(first: Any, last: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        Window.parse(first, last)
    assert refusal.value.field == field


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("UTC", date(2026, 3, 29), 24),
        ("Europe/Berlin", date(2026, 3, 29), 23),
        ("Europe/Berlin", date(2026, 10, 25), 25),
        # the clock is set back from one to midnight, so the day has 25 hours
        ("America/Havana", date(2026, 11, 1), 25),
        # the clock is set forward at midnight, so the day starts at one and has 23 hours
        ("Asia/Beirut", date(2026, 3, 29), 23),
    ],
)
def test_days_follow_local_clocks_and_meet_without_gap_or_overlap(
    zone: str, day: date, hours: int
) -> None:
    start, end = Window(day, day).seconds(zone)
    assert end - start == hours * 3600
    before = Window(day - timedelta(days=1), day - timedelta(days=1)).seconds(zone)
    after = Window(day + timedelta(days=1), day + timedelta(days=1)).seconds(zone)
    assert (before[1], after[0]) == (start, end)
    assert Window(day, day + timedelta(days=1)).seconds(zone) == (start, after[1])
