"""Copy of the audit list to a syslog server, for installations that name one.

Each event is sent as one line of JSON, by UDP or to a socket of this machine. If the server does
not respond, the act succeeds all the same: the event is in the list, and the log records that it
was not sent.
"""

from __future__ import annotations

import json
import logging
import logging.handlers
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core import checks

from dpgeo.audit.export import event_facts
from dpgeo.audit.models import Event

logger = logging.getLogger(__name__)

PORT = 514


@checks.register()
def check_syslog(**_: Any) -> list[checks.CheckMessage]:
    """Check that DPGEO_AUDIT_SYSLOG names a UDP server or a socket."""
    try:
        syslog_address(settings.DPGEO_AUDIT_SYSLOG)
    except ValueError:
        return [
            checks.Error(
                "DPGEO_AUDIT_SYSLOG is neither a UDP server nor the path of a socket.",
                hint="Give udp://log.example.org:514, or a path such as /dev/log.",
                id="dpgeo.audit.E001",
            )
        ]
    return []


def syslog_address(text: str) -> tuple[str, int] | str | None:
    """Parse a setting: the syslog server's name and port, a socket's path, or None if empty.

    Raises ValueError for other text than `udp://host:port` or an absolute path.
    """
    if not text or text.startswith("/"):
        return text or None
    parts = urlsplit(text)
    if parts.scheme != "udp" or not parts.hostname:
        raise ValueError(text)
    return parts.hostname, parts.port or PORT


def event_send(event: Event) -> None:
    """Send an event to the syslog server, if the installation names one."""
    address = syslog_address(settings.DPGEO_AUDIT_SYSLOG)
    if address is None:
        return
    try:
        handler = _handler(address)
        line = json.dumps(event_facts(event), ensure_ascii=False)
        record = logging.LogRecord("dpgeo.audit", logging.INFO, "", 0, line, None, None)
        handler.handle(record)
    except OSError as error:
        logger.warning("an event was not sent to syslog: %s", type(error).__name__)


class _Handler(logging.handlers.SysLogHandler):
    """Python's syslog handler, changed to raise errors instead of printing them."""

    ident = "dpgeo: "

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        raise


@lru_cache(maxsize=1)
def _handler(address: tuple[str, int] | str) -> _Handler:
    return _Handler(address=address, facility=logging.handlers.SysLogHandler.LOG_AUTHPRIV)
