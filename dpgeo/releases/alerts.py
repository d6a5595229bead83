"""Messages to operators by mail and webhook: failed jobs, too little space, waiting
drafts, missing files.

Privacy argument. For each kind of problem there is one fixed sentence, which says that it happened:
no message contains a dataset, a number, a name or an error. Jobs and drafts count from the time at
which API keys may learn that the job has ended (`jobs.figures`), and free disk space is read with
added blur (`jobs.disk_space`). Whether stored files are missing does not depend on the data. So the
time of a message reveals no more about the data than these
public times and the blurred reading already do, except that a job failed.
"""

from __future__ import annotations

import json
import logging
import smtplib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from django.conf import settings
from django.core import checks
from django.core.mail import send_mail
from django.utils import timezone

from dpgeo.accounts.mail import sends_mail
from dpgeo.jobs.disk_space import read_disk_space
from dpgeo.jobs.figures import job_figures
from dpgeo.jobs.models import Alert
from dpgeo.releases.missing_files import files_still_missing
from dpgeo.releases.waiting import drafts_waiting

logger = logging.getLogger(__name__)

WEBHOOK_SECONDS = 10.0
"""Seconds after which a webhook that does not answer counts as failed."""

QUIET = timedelta(hours=6)
"""Shortest time between two messages about free disk space, since its blurred reading fluctuates,
and between two about missing files, which readers find one after the other.
"""

SENTENCES: Mapping[str, str] = {
    "jobs-failed": "Jobs have failed since the last message. The desk says why, to members.",
    "space": "There is too little free space, or a folder is read-only; jobs and uploads wait.",
    "files": "Stored files are missing; `manage.py backup` and the log name them. Put them back.",
    "drafts": "Drafts wait for an approver, who publishes or rejects them on the desk.",
}


@dataclass(frozen=True, slots=True)
class Reading:
    """The level of one kind of problem; a message is sent when the level rises."""

    name: str
    level: int


@checks.register()
def check_alerts(**_: Any) -> list[checks.CheckMessage]:
    """Check that the settings suffice for alerts by mail and to the webhook; nothing is sent."""
    messages: list[checks.CheckMessage] = []
    url = settings.DPGEO_ALERT_URL
    if url and (urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).hostname):
        hint = "Give an address such as https://chat.example.org/hooks/..."
        messages.append(
            checks.Error("DPGEO_ALERT_URL is no web address.", hint=hint, id="dpgeo.releases.E001")
        )
    if settings.DPGEO_ALERT_MAIL and not sends_mail():
        hint = "Set DPGEO_EMAIL_URL to a mail server."
        words = "DPGEO_ALERT_MAIL is set, but no mail can be sent."
        messages.append(checks.Error(words, hint=hint, id="dpgeo.releases.E002"))
    return messages


def alerts_send() -> int:
    """Send a message about each problem that got worse since its last message; return how many.

    If several reapers run, only one of them sends a message. If a message cannot be sent, the next
    round tries again.
    """
    if not (settings.DPGEO_ALERT_MAIL or settings.DPGEO_ALERT_URL):
        return 0
    return sum(_tell(reading) for reading in _readings())


def _readings() -> Iterator[Reading]:
    space = read_disk_space()
    yield Reading("jobs-failed", job_figures().failed)
    yield Reading("space", int(space.low or not space.writable))
    yield Reading("files", files_still_missing())
    yield Reading("drafts", drafts_waiting())


def _tell(reading: Reading) -> bool:
    """Record a problem's level, and send a message if it has risen; return whether one was sent."""
    # Jobs that failed before this software first looked for problems cause no message. All other
    # problems are states, which are reported even if they exist at that time already.
    first = reading.level if reading.name == "jobs-failed" else 0
    alert, _ = Alert.objects.get_or_create(name=reading.name, defaults={"level": first})
    if reading.level == alert.level:
        return False
    rises = reading.level > alert.level
    if rises and reading.name in {"space", "files"} and _told_lately(alert):
        return False
    stored = Alert.objects.filter(pk=alert.pk, level=alert.level)
    sent_at = timezone.now() if rises else alert.sent_at
    if not stored.update(level=reading.level, sent_at=sent_at) or not rises:
        return False
    if _send(reading.name):
        return True
    Alert.objects.filter(pk=alert.pk).update(level=alert.level, sent_at=alert.sent_at)
    return False


def _told_lately(alert: Alert) -> bool:
    return alert.sent_at is not None and timezone.now() - alert.sent_at < QUIET


def _send(name: str) -> bool:
    """Send a message to all mailboxes and the webhook; return False if all of them failed."""
    text = SENTENCES[name]
    taken = False
    try:
        if settings.DPGEO_ALERT_MAIL:
            send_mail(f"dpgeo: {name}", f"{text}\n", None, settings.DPGEO_ALERT_MAIL)
            taken = True
    except (smtplib.SMTPException, OSError) as error:
        logger.warning("a message to operators was not mailed: %s", type(error).__name__)
    try:
        if settings.DPGEO_ALERT_URL:
            _post({"alert": name, "text": text, "at": timezone.now().isoformat()})
            taken = True
    except (HTTPException, OSError, ValueError) as error:
        logger.warning("the webhook for operators did not answer: %s", type(error).__name__)
    return taken


def _post(facts: Mapping[str, str]) -> None:
    request = Request(  # noqa: S310
        settings.DPGEO_ALERT_URL,
        data=json.dumps(facts).encode(),
        headers={"Content-Type": "application/json"},
        method="POST",
    )
    build_opener(_NoRedirect).open(request, timeout=WEBHOOK_SECONDS).close()


class _NoRedirect(HTTPRedirectHandler):
    """Handler that refuses redirects, so that requests go only to the URL in the settings."""

    def redirect_request(self, *_: Any) -> None:
        """Return None, so that the redirect is raised as an HTTPError."""
