"""Functions that `tests.services.driver` calls by name, for tests of the API and owners' pages."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any


def prepare_program() -> dict[str, Any]:
    """Make a dataset with data; return headers with a key, and the body of a release request."""
    from tests.web.api import REQUEST, program_of
    from tests.web.desk import make_desk

    desk = make_desk()
    dataset = desk.declare(ready=True)
    body = {"dataset": dataset.slug, "title": "A map", **REQUEST}
    return {"headers": program_of(desk).headers, "body": body}


def layered() -> dict[str, Any]:
    """Make a published release with two layers and its files; return its id."""
    from tests.unit.artefacts.releases import partition_release
    from tests.web.published import install, make_dataset

    return {"release": install(make_dataset(), partition_release(64)).pk}


def fuzzed() -> dict[str, Any]:
    """Make objects of each kind in the API, for the fuzzer to request.

    Returns headers with a key, and the names or ids of the objects.
    """
    from tests.services.fuzzed import make

    return make()


def house(datasets: int) -> dict[str, Any]:
    """Make an organisation with `datasets` datasets that have no data yet.

    Returns headers with the organisation's API key, its owner's session and the datasets' slugs.
    """
    from tests.web.api import program_of
    from tests.web.desk import make_desk

    desk = make_desk()
    slugs = [desk.declare(title=f"Trips {number}").slug for number in range(datasets)]
    session = desk.client.cookies["dpgeo_session"].value
    return {"headers": program_of(desk).headers, "session": session, "slugs": slugs}


def reports() -> dict[str, Any]:
    """Return, for each dataset, its last upload's state and numbers of accepted and read rows."""
    from dpgeo.datasets.models import Upload

    uploads = Upload.objects.order_by("created_at").select_related("dataset")
    keys = ("accepted", "read")
    return {
        upload.dataset.slug: [upload.state, *((upload.report or {}).get(key) for key in keys)]
        for upload in uploads
    }


def warm_up() -> dict[str, Any]:
    """Import the modules that a first request needs, so that a timed request does not."""
    from django.test import Client

    return {"status": Client(headers={"Host": "localhost"}).get("/api/v1/mechanisms").status_code}


def post(headers: dict[str, str], body: dict[str, Any], at: float) -> dict[str, Any]:
    """Post a release request at the time `at`; return the response's status and JSON."""
    from django.test import Client

    client = Client(headers={**headers, "Idempotency-Key": "monday", "Host": "localhost"})
    time.sleep(max(0.0, at - time.time()))
    answer = client.post("/api/v1/releases", body, content_type="application/json")
    return {"status": answer.status_code, **json.loads(answer.content)}


def paid() -> dict[str, Any]:
    """Return the number of releases, and the amount of every ledger entry in the ledger's units."""
    from dpgeo.budgets.models import Entry
    from dpgeo.releases.models import Release

    units = list(Entry.objects.values_list("units", flat=True))
    return {"releases": Release.objects.count(), "paid": units}


ACTIONS: dict[str, Callable[..., dict[str, Any]]] = {
    action.__name__: action
    for action in (
        *(prepare_program, layered, fuzzed, house, reports),
        *(warm_up, post, paid),
    )
}
