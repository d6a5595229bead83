"""Metrics for Prometheus at `/metrics`, off unless the installation sets a token.

Privacy argument. No metric has a label for a dataset, a release, an account or a client. Jobs are
counted by the states that API keys may see (`jobs.figures`). The free space is read inexactly, as
it is when requests are refused for lack of space; `jobs.disk_space` bounds what repeated readings
reveal. Requests are counted by part of the site and class of status alone, so nobody learns who
looked at which map. Remaining budgets are not here, but on a page for administrators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core import checks
from django.core.exceptions import MiddlewareNotUsed
from django.db import DatabaseError
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

import dpgeo
from dpgeo.api.health import READY, service_states
from dpgeo.datasets.models import MissingFile
from dpgeo.jobs.disk_space import read_disk_space
from dpgeo.jobs.figures import job_figures
from dpgeo.releases.waiting import drafts_waiting

if TYPE_CHECKING:
    from prometheus_client import Counter
    from prometheus_client.core import Metric

MIN_TOKEN_LENGTH = 16
"""Minimum length of DPGEO_METRICS_TOKEN in characters."""

PARTS = ("api", "ogc", "ground", "static", "desk", "accounts", "admin", "embed", "plan")
"""Parts of the site that are counted separately; all other URLs count as "pages"."""

PRIVATE = ("desk", "admin")
"""Parts of the site that only signed-in data owners and administrators use."""

HEALTH = ("metrics", "healthz", "readyz")


@checks.register(checks.Tags.security)
def check_token(**_: Any) -> list[checks.CheckMessage]:
    """Check that DPGEO_METRICS_TOKEN is long enough not to be guessed."""
    if not settings.DPGEO_METRICS_TOKEN or len(settings.DPGEO_METRICS_TOKEN) >= MIN_TOKEN_LENGTH:
        return []
    return [
        checks.Error(
            f"DPGEO_METRICS_TOKEN is shorter than {MIN_TOKEN_LENGTH} characters.",
            hint="Make one with `openssl rand -hex 32`.",
            id="dpgeo.api.E001",
        )
    ]


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Respond with all metrics; 401 for a wrong token, 404 if no token is set."""
    token = settings.DPGEO_METRICS_TOKEN
    if not token:
        raise Http404("No such page.")
    if not constant_time_compare(request.headers.get("Authorization", ""), f"Bearer {token}"):
        answer = HttpResponse("Send the token: Authorization: Bearer TOKEN\n", status=401)
        answer.headers["WWW-Authenticate"] = 'Bearer realm="metrics"'
        return answer
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
    from prometheus_client.multiprocess import MultiProcessCollector

    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=str(settings.DPGEO_METRICS_DIR))
    registry.register(SiteCollector())
    try:
        text = generate_latest(registry)
    except DatabaseError:
        return HttpResponse("The database does not answer.\n", status=503)
    return HttpResponse(text, content_type=CONTENT_TYPE_LATEST)


class SiteCollector:
    """Collector of figures from the database and the disks, read anew at each scrape."""

    def describe(self) -> list[Metric]:
        """Return no description, so that registering the collector reads nothing."""
        return []

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.core import (
            CounterMetricFamily,
            GaugeMetricFamily,
            InfoMetricFamily,
        )

        figures, reading = job_figures(), read_disk_space()
        info = {"version": dpgeo.__version__}
        yield InfoMetricFamily("dpgeo", "The running version.", value=info)
        gauges = {
            "dpgeo_jobs_unfinished": ("Jobs that wait or run.", figures.unfinished),
            "dpgeo_jobs_oldest_seconds": ("Age of the oldest of these.", figures.oldest),
            "dpgeo_drafts_waiting": ("Drafts that wait for an approver.", drafts_waiting()),
            "dpgeo_disk_room_bytes": ("Space that may be used, blurred.", reading.room),
            "dpgeo_ready": ("1 if /readyz answers 200.", int(service_states() == READY)),
            "dpgeo_files_missing": ("Stored files that are missing.", MissingFile.objects.count()),
            "dpgeo_disk_low": ("1 if there is too little space.", int(reading.low)),
            "dpgeo_disk_writable": ("1 if all folders can be written.", int(reading.writable)),
        }
        for name, (words, value) in gauges.items():
            yield GaugeMetricFamily(name, words, value=value)
        yield CounterMetricFamily("dpgeo_jobs_failed", "Jobs that failed.", value=figures.failed)
        ended = CounterMetricFamily(
            "dpgeo_jobs_ended", "Jobs that ended, by the class of their time.", labels=["within"]
        )
        for within, number in figures.ended.items():
            ended.add_metric([within], number)
        yield ended


def counted_requests(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Return a middleware that counts requests.

    Raises MiddlewareNotUsed if no token for metrics is set.
    """
    if not settings.DPGEO_METRICS_TOKEN:
        raise MiddlewareNotUsed
    requests = _counter()

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        part = url_part(request.path_info)
        requests.labels(part, status_class(part, response.status_code)).inc()
        return response

    return middleware


def status_class(part: str, status: int) -> str:
    """Return the class of a status, such as "4xx".

    In PRIVATE parts of the site, the class is "answered" for all statuses below 500. There, the
    status can depend on rows, for example on the share of usable rows.
    """
    return "answered" if part in PRIVATE and status < 500 else f"{status // 100}xx"


def url_part(path: str) -> str:
    """Return the part of the site to which a URL path belongs; a language prefix is ignored."""
    names = path.strip("/").split("/")
    if names[0] in {code.split("-")[0] for code, _ in settings.LANGUAGES}:
        names = names[1:] or [""]
    if names[0] in HEALTH:
        return "health"
    return names[0] if names[0] in PARTS else "pages"


_requests: Counter | None = None


def _counter() -> Counter:
    """Return the counter of requests, which all web processes of this machine share."""
    global _requests
    if _requests is None:
        from prometheus_client import Counter

        words = "Requests answered, by part of the site and class of status."
        _requests = Counter("dpgeo_requests", words, ["part", "status"], registry=None)
    return _requests
