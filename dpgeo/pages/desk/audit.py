"""Page of the audit list, with a filter, and export of the filtered list as CSV or JSON lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, time, timedelta
from typing import Any

from django import forms
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dpgeo.accounts.models import Organisation
from dpgeo.accounts.selectors import events_visible_to, may_see_events
from dpgeo.audit.export import csv_lines, json_lines
from dpgeo.audit.models import Event, EventKind
from dpgeo.audit.services import event_record
from dpgeo.pages.desk.access import person
from dpgeo.pages.desk.desk_form import DeskForm

PAGE_EVENTS = 100

CHUNK = 2_000
"""Number of events that an export reads from the database at a time."""

FORMATS: Mapping[str, tuple[str, Callable[[Iterable[Event]], Iterator[str]]]] = {
    "csv": ("text/csv; charset=utf-8", csv_lines),
    "jsonl": ("application/jsonl; charset=utf-8", json_lines),
}
"""Media type and writer of each export format, by the suffix of its file name."""


class FilterForm(DeskForm):
    """The filter of the audit list; days are in UTC."""

    kind = forms.ChoiceField(
        required=False,
        label=_("What happened"),
        choices=[("", _("Everything")), *((kind, _(words)) for kind, words in EventKind.choices)],
    )
    text = forms.CharField(
        required=False, max_length=200, label=_("Account, dataset, release or key contains")
    )
    first = forms.DateField(
        required=False, label=_("From"), widget=forms.DateInput(attrs={"type": "date"})
    )
    last = forms.DateField(
        required=False, label=_("To"), widget=forms.DateInput(attrs={"type": "date"})
    )


@login_required
@require_safe
@never_cache
def audit(request: HttpRequest) -> HttpResponse:
    """List the events that the user may see, newest first."""
    form, events = _filtered(request)
    page = Paginator(events, PAGE_EVENTS).get_page(request.GET.get("page"))
    query = request.GET.copy()
    query.pop("page", None)
    shown = {event.organisation for event in page.object_list if event.organisation}
    context = {
        "nav": "audit",
        "form": form,
        "page": page,
        "query": query.urlencode(),
        "organisations": Organisation.objects.in_bulk(shown),
    }
    return render(request, "desk/audit.html", context)


@login_required
@require_safe
@never_cache
def audit_export(request: HttpRequest, suffix: str) -> HttpResponseBase:
    """Stream the events that match the filter, oldest first; the export itself is recorded, too."""
    if suffix not in FORMATS:
        raise Http404("No such page.")
    _, events = _filtered(request)
    media_type, lines = FORMATS[suffix]
    newest = events.first()
    # Events added from now on, such as the export itself, are not in the file.
    events = events.filter(pk__lte=newest.pk if newest else 0).order_by("pk")
    event_record(EventKind.EXPORTED, by=person(request), detail=suffix)
    answer = StreamingHttpResponse(
        lines(events.iterator(chunk_size=CHUNK)), content_type=media_type
    )
    answer.headers["Content-Disposition"] = f'attachment; filename="audit.{suffix}"'
    return answer


def _filtered(request: HttpRequest) -> tuple[FilterForm, QuerySet[Event]]:
    """Return the filter and the visible events that match it. Raises Http404 without access."""
    user = person(request)
    if not may_see_events(user):
        raise Http404("No such page.")
    form = FilterForm(request.GET or None)
    events = events_visible_to(user)
    if not form.is_bound:
        return form, events
    if not form.is_valid():
        return form, events.none()
    wanted: dict[str, Any] = form.cleaned_data
    if wanted["kind"]:
        events = events.filter(kind=wanted["kind"])
    if wanted["text"]:
        events = events.filter(
            Q(who__icontains=wanted["text"]) | Q(subject__icontains=wanted["text"])
        )
    if wanted["first"]:
        events = events.filter(at__gte=_midnight(wanted["first"]))
    if wanted["last"]:
        events = events.filter(at__lt=_midnight(wanted["last"]) + timedelta(days=1))
    return form, events


def _midnight(day: Any) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))
