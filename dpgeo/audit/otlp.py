"""Copy of the audit list to an OpenTelemetry collector, by OTLP/HTTP in its JSON encoding.

Source: OpenTelemetry Protocol specification 1.x, "OTLP/HTTP" and "JSON Protobuf Encoding"; logs
data model, "Events". Each event is sent in a request of its own and at once, because events are few
and somebody may be watching for attacks. Separate threads send the requests, so that a collector
that does not respond delays nobody. Requests may arrive out of order; the event's id gives the
order. While `AT_ONCE` requests are under way, further events are not sent.
"""

from __future__ import annotations

import json
import logging
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from threading import BoundedSemaphore, Thread
from typing import Any
from urllib.parse import SplitResult, urlsplit

from django.conf import settings
from django.core import checks
from django.utils import timezone

from dpgeo.audit.export import event_facts
from dpgeo.audit.models import Event

logger = logging.getLogger(__name__)

AT_ONCE = 16
"""Maximum number of requests under way in a process, which limits the number of threads."""

_places = BoundedSemaphore(AT_ONCE)

SECONDS = 5
"""Longest time, in seconds, in which a collector must accept a connection, and then respond."""

INFO = 9
"""OpenTelemetry's number of the severity INFO."""

LOCAL = {"localhost", "127.0.0.1", "::1"}


@checks.register()
def check_otlp(**_: Any) -> list[checks.CheckMessage]:
    """Check that DPGEO_AUDIT_OTLP is an https URL or a collector on this machine.

    Events contain names, so they must not cross a network unencrypted.
    """
    try:
        otlp_address(settings.DPGEO_AUDIT_OTLP)
    except ValueError:
        return [
            checks.Error(
                "DPGEO_AUDIT_OTLP is neither https nor a collector on this machine.",
                hint="Give https://collector.example.org/v1/logs, or http://127.0.0.1:4318/v1/logs.",
                id="dpgeo.audit.E002",
            )
        ]
    return []


def otlp_address(text: str) -> SplitResult | None:
    """Parse a collector's address; return None for an empty text.

    Raises ValueError unless the address is an https URL or a collector on this machine.
    """
    if not text:
        return None
    parts = urlsplit(text)
    local = parts.scheme == "http" and parts.hostname in LOCAL
    if not parts.hostname or not (local or parts.scheme == "https") or parts.port == 0:
        raise ValueError(text)
    return parts


def event_export(event: Event) -> None:
    """Send an event to the collector, if the installation names one, without waiting for it."""
    address = otlp_address(settings.DPGEO_AUDIT_OTLP)
    if address is None:
        return
    if not _places.acquire(blocking=False):
        logger.warning("an event was not sent to the collector: too many are under way")
        return
    try:
        body = json.dumps(export_request(event)).encode()
        Thread(target=_post, args=(address, settings.DPGEO_AUDIT_OTLP_TOKEN, body)).start()
    except BaseException:
        _places.release()
        raise


def export_request(event: Event) -> dict[str, Any]:
    """Return an event as an ExportLogsServiceRequest; times are in nanoseconds, as text."""
    facts = event_facts(event)
    nanoseconds = round(event.at.timestamp() * 1_000_000) * 1000
    observed = round(timezone.now().timestamp() * 1_000_000) * 1000
    record = {
        "timeUnixNano": str(nanoseconds),
        "observedTimeUnixNano": str(observed),
        "severityNumber": INFO,
        "severityText": "INFO",
        "eventName": f"dpgeo.audit.{event.kind}",
        "body": {"stringValue": json.dumps(facts, ensure_ascii=False)},
        "attributes": [
            _attribute(f"dpgeo.{name}", value) for name, value in facts.items() if value is not None
        ],
    }
    return {
        "resourceLogs": [
            {
                "resource": {"attributes": [_attribute("service.name", "dpgeo")]},
                "scopeLogs": [{"scope": {"name": "dpgeo.audit"}, "logRecords": [record]}],
            }
        ]
    }


def _attribute(key: str, value: str | int) -> dict[str, Any]:
    named = {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}
    return {"key": key, "value": named}


def _post(address: SplitResult, token: str, body: bytes) -> None:
    """Send a request without following redirects; a failure is only logged."""
    connect = HTTPSConnection if address.scheme == "https" else HTTPConnection
    connection = connect(address.hostname or "", address.port, timeout=SECONDS)
    headers = {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    try:
        connection.request("POST", address.path or "/v1/logs", body, headers)
        status = connection.getresponse().status
    except (OSError, HTTPException, ValueError) as error:
        # Do not log the message: that of a ValueError could quote the secret token.
        logger.warning("an event was not sent to the collector: %s", type(error).__name__)
    else:
        if status != 200:
            logger.warning("an event was not accepted by the collector: %s", status)
    finally:
        connection.close()
        _places.release()
