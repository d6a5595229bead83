"""Copy of the audit list on standard output, from which collectors of logs take it.

Where logs are JSON (`DPGEO_LOG_FORMAT`), each event is written as one line of JSON once it is
committed. Logs themselves go to standard error. If the line cannot be written, the act succeeds all
the same: the event is in the list.
"""

from __future__ import annotations

import json
import logging
import sys

from django.conf import settings

from dpgeo.audit.export import event_facts
from dpgeo.audit.models import Event

logger = logging.getLogger(__name__)


def event_print(event: Event) -> None:
    """Write an event to standard output, if the logs of this installation are JSON."""
    if not settings.LOGS_ARE_JSON:
        return
    line = json.dumps({"logger": "dpgeo.audit", **event_facts(event)}, ensure_ascii=False)
    try:
        # In one piece, because several threads and processes write lines.
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    except (OSError, ValueError) as error:
        logger.warning("an event was not written to standard output: %s", type(error).__name__)
