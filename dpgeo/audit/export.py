"""The audit list as CSV and as JSON lines, produced line by line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from dpgeo.audit.models import Event
from dpgeo.core.csv_text import csv_line

COLUMNS = ("id", "at", "kind", "who", "origin", "organisation", "subject", "detail")


def event_facts(event: Event) -> dict[str, str | int | None]:
    """Return an event's fields by column; the time is in UTC."""
    facts = {name: getattr(event, name) for name in COLUMNS}
    return {**facts, "at": event.at.isoformat()}


def csv_lines(events: Iterable[Event]) -> Iterator[str]:
    """Yield the events as lines of CSV, with a header."""
    yield csv_line(COLUMNS)
    for event in events:
        yield csv_line(event_facts(event).values())


def json_lines(events: Iterable[Event]) -> Iterator[str]:
    """Yield the events as JSON objects, one per line."""
    for event in events:
        yield json.dumps(event_facts(event), ensure_ascii=False) + "\n"
