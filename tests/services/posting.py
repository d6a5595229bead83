"""Actions on an installation, including a request that is posted at a given time.

`python -m tests.services.posting ACTION JSON` runs an action in a separate process and prints the
result as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import django


def prepare() -> dict[str, Any]:
    """Make a dataset with data; return headers with a key, and the body of a release request."""
    from django.core.management import call_command

    from tests.web.api import REQUEST, program_of
    from tests.web.desk import make_desk

    call_command("migrate", verbosity=0)
    desk = make_desk()
    dataset = desk.declare(ready=True)
    body = {"dataset": dataset.slug, "title": "A map", **REQUEST}
    return {"headers": program_of(desk).headers, "body": body}


def layered() -> dict[str, Any]:
    """Make a published release with two layers and its files; return its id."""
    from django.core.management import call_command

    from tests.unit.artefacts.releases import partition_release
    from tests.web.published import install, make_dataset

    call_command("migrate", verbosity=0)
    return {"release": install(make_dataset(), partition_release(64)).pk}


def fuzzed() -> dict[str, Any]:
    """Make objects of each kind in the API; return headers with a key, and the objects' names."""
    from django.core.management import call_command

    from tests.services.fuzzed import make

    call_command("migrate", verbosity=0)
    return make()


def house(datasets: int) -> dict[str, Any]:
    """Make an organisation with `datasets` datasets that have no data yet.

    Returns headers with the organisation's API key, its owner's session and the datasets' slugs.
    """
    from django.core.management import call_command

    from tests.web.api import program_of
    from tests.web.desk import make_desk

    call_command("migrate", verbosity=0)
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


def post(headers: dict[str, str], body: dict[str, Any], at: float) -> dict[str, Any]:
    """Post a release request at the time `at`; return the response's status and JSON."""
    from django.test import Client

    client = Client(headers={**headers, "Idempotency-Key": "monday", "Host": "localhost"})
    # This imports the modules that a first request needs, so that the timed request does not.
    client.get("/api/v1/mechanisms")
    time.sleep(max(0.0, at - time.time()))
    answer = client.post("/api/v1/releases", body, content_type="application/json")
    return {"status": answer.status_code, **json.loads(answer.content)}


def total() -> dict[str, Any]:
    """Return the number of releases, and the units of every ledger entry."""
    from dpgeo.budgets.models import Entry
    from dpgeo.releases.models import Release

    paid = list(Entry.objects.values_list("units", flat=True))
    return {"releases": Release.objects.count(), "paid": paid}


ACTIONS: dict[str, Callable[..., dict[str, Any]]] = {
    action.__name__: action for action in (prepare, layered, fuzzed, house, reports, post, total)
}

if __name__ == "__main__":
    django.setup()
    sys.stdout.write(json.dumps(ACTIONS[sys.argv[1]](**json.loads(sys.argv[2]))))
