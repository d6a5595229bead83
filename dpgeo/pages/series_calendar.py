"""Calendar file (iCalendar, RFC 5545) of the days after the last days of a series' periods.

The file follows from the declaration of the series alone, so it reveals neither anything about the
data nor which maps exist.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from dpgeo.accounts.selectors import visible_organisations
from dpgeo.core.series import Period
from dpgeo.pages.feed import series_address
from dpgeo.releases.models import Series
from dpgeo.releases.series_maps import newest_public

MEDIA_TYPE = "text/calendar; charset=utf-8"

REPEATS = {Period.DAY: "DAILY", Period.WEEK: "WEEKLY", Period.MONTH: "MONTHLY"}

MAX_LINE_LENGTH = 75
"""Longest line of a calendar file in bytes; longer ones are folded."""


@require_safe
def series_calendar(request: HttpRequest, series_id: uuid.UUID) -> HttpResponse:
    """Return one event that repeats on the day after each period's last day.

    Until a map is published, only members get the event, as they alone see the series' page.
    """
    series = Series.objects.select_related("dataset__organisation").filter(pk=series_id).first()
    if series is None or (
        newest_public(series) is None
        and series.dataset.organisation not in visible_organisations(request.user)
    ):
        raise Http404
    answer = HttpResponse(
        _text(_lines(series, series_address(request, series))), content_type=MEDIA_TYPE
    )
    answer["Content-Disposition"] = 'inline; filename="calendar.ics"'
    return answer


def _lines(series: Series, address: str) -> Iterable[str]:
    over, maps = series.window(2).first, series.terms.maps
    return [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//dpgeo//series//EN",
        "BEGIN:VEVENT",
        f"UID:{series.pk}",
        f"DTSTAMP:{series.created_at:%Y%m%d}T000000Z",
        f"DTSTART;VALUE=DATE:{over:%Y%m%d}",
        f"RRULE:FREQ={REPEATS[series.terms.period]}" + (f";COUNT={maps}" if maps else ""),
        "SUMMARY:" + _escaped(gettext("{title}: a map falls due").format(title=series.title)),
        "DESCRIPTION:" + _escaped(gettext("It is drawn once its data are said to be complete.")),
        f"URL:{address}",
        "TRANSP:TRANSPARENT",
        "END:VEVENT",
        "END:VCALENDAR",
    ]


def _escaped(text: str) -> str:
    for sign in ("\\", ";", ","):
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.split())


def _text(lines: Iterable[str]) -> str:
    """Return lines as a calendar file, in which no line is longer than MAX_LINE_LENGTH bytes."""
    return "".join(part + "\r\n" for line in lines for part in _folded(line))


def _folded(line: str) -> Iterable[str]:
    part = ""
    for sign in line:
        if len((part + sign).encode()) > MAX_LINE_LENGTH:
            yield part
            part = " "
        part += sign
    yield part
