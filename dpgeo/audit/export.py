"""The audit list as CSV and as JSON lines, produced line by line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator

from dpgeo.audit.models import Event

COLUMNS = ("id", "at", "kind", "who", "origin", "organisation", "subject", "detail")


def event_facts(event: Event) -> dict[str, str | int | None]:
    """Return an event's fields by column; the time is in UTC."""
    facts = {name: getattr(event, name) for name in COLUMNS}
    return {**facts, "at": event.at.isoformat()}


def csv_lines(events: Iterable[Event]) -> Iterator[str]:
    """Yield the events as lines of CSV, with a header."""
    yield _row(COLUMNS)
    for event in events:
        yield _row("" if each is None else str(each) for each in event_facts(event).values())


def json_lines(events: Iterable[Event]) -> Iterator[str]:
    """Yield the events as JSON objects, one per line."""
    for event in events:
        yield json.dumps(event_facts(event), ensure_ascii=False) + "\n"


def as_text(value: str) -> str:
    """Return a CSV cell's text, escaped so that spreadsheets do not read it as a formula."""
    return f"'{value}" if value[:1] in {"=", "+", "-", "@", "\t", "\r"} else value


def _row(cells: Iterable[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow([as_text(each) for each in cells])
    return line.getvalue()
