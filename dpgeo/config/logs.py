"""Logging: one line per event on standard error, without any private data.

An exception is logged by its type and traceback. Its message is left out, because messages quote
the values that caused them. Users who may see private facts can read on a job's page why it failed.
All log lines of a request carry its `request_id`, and all those of a job its `job_id`, whichever
module wrote them.
"""

from __future__ import annotations

import logging
import re
from typing import Any

import structlog
from structlog.types import EventDict, Processor, WrappedLogger

TASK_FACTS = ("name", "id", "description")
"""What may be logged about a task. Celery's reports also contain the task's arguments and
exception.
"""


ABOUT_THE_SERVER = ("total open connections", "%d thread(s)", "Canceling %d")
"""Beginnings of those messages of waitress that name neither a client nor a URL."""


SECRET_LINK = re.compile(r"(/accounts/(?:password|invitation)/)[^/\s]+(?:/[^/\s]+)?")


def places(error: BaseException) -> str:
    """Return the types and tracebacks of a chain of exceptions, without their messages."""
    lines = []
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        where = []
        step = link.__traceback__
        while step is not None:
            code = step.tb_frame.f_code
            module = step.tb_frame.f_globals.get("__name__", code.co_filename)
            where.append(f"{module}:{step.tb_lineno} {code.co_name}")
            step = step.tb_next
        lines.append(f"{type(link).__name__} at " + " > ".join(where))
        link = link.__cause__ or link.__context__
    return " | after ".join(lines)


def without_messages(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Replace the exception in a log event with its type and traceback."""
    info: Any = event.pop("exc_info", None)
    if isinstance(info, BaseException):
        event["error"] = places(info)
    elif isinstance(info, tuple) and info[1] is not None:
        event["error"] = places(info[1])
    event.pop("stack_info", None)
    return event


class TaskFactsOnly(logging.Filter):
    """Filter that reduces Celery's task reports to the facts that may be logged."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Reword Celery's task reports. Returns True, so every record is kept."""
        if isinstance(record.args, dict) and "description" in record.args:
            record.msg = "task %(name)s %(id)s %(description)s"
            record.args = {name: record.args.get(name) for name in TASK_FACTS}
        return True


class NoClients(logging.Filter):
    """Filter that removes client addresses and requested URLs from waitress's messages."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Replace messages that quote clients. Returns True, so every record is kept."""
        if record.name == "waitress" and not str(record.msg).startswith(ABOUT_THE_SERVER):
            record.msg, record.args = "a request could not be answered", ()
        return True


class NoSecretLinks(logging.Filter):
    """Filter that removes the secrets in links for passwords and invitations from log messages."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Remove the secrets of links from a record's text.

        Returns True, so that every record is kept.
        """
        if isinstance(record.args, tuple):
            record.args = tuple(
                SECRET_LINK.sub(r"\1...", each) if isinstance(each, str) else each
                for each in record.args
            )
        if isinstance(record.msg, str):
            record.msg = SECRET_LINK.sub(r"\1...", record.msg)
        return True


def logging_settings(*, json: bool = False, level: str = "INFO") -> dict[str, Any]:
    """Return the logging settings of all processes, for `logging.config.dictConfig`."""
    renderer: Any = structlog.processors.JSONRenderer()
    if not json:
        renderer = structlog.processors.LogfmtRenderer(
            key_order=["timestamp", "level", "logger", "event"], bool_as_flag=False
        )
    before: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        without_messages,
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *before,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {
            "task_facts_only": {"()": TaskFactsOnly},
            "no_clients": {"()": NoClients},
            "no_secret_links": {"()": NoSecretLinks},
        },
        "formatters": {
            "line": {
                "()": structlog.stdlib.ProcessorFormatter,
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    renderer,
                ],
                "foreign_pre_chain": before,
            }
        },
        "handlers": {
            "stderr": {
                "class": "logging.StreamHandler",
                "formatter": "line",
                "filters": ["task_facts_only", "no_clients", "no_secret_links"],
            }
        },
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {
            "dpgeo": {"level": level},
            "django": {"handlers": [], "level": "WARNING"},
            # Below ERROR, this logger only lists URLs that people mistyped or are not allowed to
            # see.
            "django.request": {"level": "ERROR"},
            "django.security.DisallowedHost": {"level": "CRITICAL"},
            "django.server": {"handlers": [], "level": "WARNING", "propagate": True},
            # Below ERROR, this logger reports each request that has to wait.
            "waitress.queue": {"level": "ERROR"},
            "kombu.connection": {"level": "ERROR"},  # kombu warns if the broker's URL has no host
        },
    }
