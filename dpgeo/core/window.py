"""Windows of days: a release counts only the rows of these days.

Privacy argument. Whether a row is counted depends on its own time and the declared window alone,
and is decided before contributions are bounded. Removing a person therefore removes that person's
rows and changes no other row.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from dpgeo.core.errors import InvalidInput

EARLIEST, LATEST = date(1000, 1, 2), date(2999, 12, 30)
"""The earliest first day and the latest last day of a window.

Times in canonical files are within the years 1000 to 2999."""


@dataclass(frozen=True, slots=True)
class Window:
    """The days from `first` to `last`, both included, in a dataset's local time."""

    first: date
    last: date

    @classmethod
    def parse(cls, first: object, last: object) -> Window | None:
        """Return the window between two days, each a date or written as 2026-01-31.

        Returns None if both are None or empty. Raises InvalidInput (field "from_day" or "to_day")
        for other texts, if only one day is given, or if the last day is before the first.
        """
        start, end = parse_day(first, "from_day"), parse_day(last, "to_day")
        if start is None and end is None:
            return None
        if start is None or end is None:
            raise InvalidInput(
                "A window needs its first and its last day; give both, or neither.",
                field="from_day" if start is None else "to_day",
            )
        if end < start:
            raise InvalidInput("Lies before the first day; swap them.", field="to_day")
        return cls(start, end)

    def seconds(self, time_zone: str) -> tuple[int, int]:
        """Return the window's start and end in seconds since 1970, the end excluded.

        A day begins at local midnight, or at the first of two midnights. Windows of consecutive
        days therefore meet without a gap and without an overlap.
        """
        zone = ZoneInfo(time_zone)
        after = self.last + timedelta(days=1)
        start, end = (
            int(datetime(day.year, day.month, day.day, tzinfo=zone).timestamp())
            for day in (self.first, after)
        )
        return start, end


def parse_day(value: object, field: str = "") -> date | None:
    if value is None or value == "":
        return None
    if isinstance(value, date) and not isinstance(value, datetime):
        day = value
    else:
        try:
            day = datetime.strptime(str(value), "%Y-%m-%d").date()
        except ValueError:
            raise InvalidInput(
                "{value!r} is not a day; write it like 2026-01-31.", value=str(value), field=field
            ) from None
    if not EARLIEST <= day <= LATEST:
        raise InvalidInput("Must be a day of the years 1000 to 2999.", field=field)
    return day
