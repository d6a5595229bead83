"""Recording of events in the audit list, in the same transaction as the recorded act."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from dpgeo.audit.models import Event, EventKind
from dpgeo.audit.origin import current_name, current_origin, current_user
from dpgeo.audit.standard_output import event_print


def event_record(
    kind: EventKind,
    *,
    by: Any = None,
    organisation: int | None = None,
    subject: str = "",
    detail: str = "",
    who: str | None = None,
) -> Event:
    """Add an event to the audit list, and print it once the transaction is committed.

    `by` is the account that acts; if it is None, the account that is signed in to the current
    request or, without one, what `origin.acting` names or the console. `who` replaces the account's
    name, for events without an account. `subject` and `detail` are cut to 200 characters;
    `audit.models` lists what they must not contain.
    """
    user = by if by is not None else current_user()
    origin = current_origin()
    if who is None:
        who = current_name() if user is None else str(user)
    event = Event.objects.create(
        kind=kind,
        who=who[:200],
        account=getattr(user, "pk", None),
        origin=origin[:50],
        organisation=organisation,
        subject=subject[:200],
        detail=detail[:200],
    )
    transaction.on_commit(lambda: event_print(event), robust=True)
    return event
