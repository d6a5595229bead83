"""Idempotency keys, by which a repeated request is carried out only once."""

from __future__ import annotations

import hashlib
import re
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from dpgeo.core.errors import InvalidInput
from dpgeo.datasets.models import Dataset

IDEMPOTENCY_KEY = "Idempotency-Key"

SAME_JOB = OpenApiParameter(
    IDEMPOTENCY_KEY,
    str,
    OpenApiParameter.HEADER,
    required=True,
    description="A name of your choice for this request, such as a date or a UUID. If you "
    "send the request again with this name, it gets the same job and is paid for only once.",
)

SAME_FILE = OpenApiParameter(
    IDEMPOTENCY_KEY,
    str,
    OpenApiParameter.HEADER,
    description="A name of your choice for this file. If you announce it again with this name, you "
    "get the same upload, with the bytes that have arrived.",
)


def read_idempotency_key(request: Request) -> str:
    """Return the header Idempotency-Key. Raises InvalidInput if it is missing or malformed.

    Without this key, a request that is sent again because its response was lost would spend budget
    twice, and spent budget cannot be recovered.
    """
    name = request.headers.get(IDEMPOTENCY_KEY, "").strip()
    if not re.fullmatch(r"[!-~]{1,200}", name):
        raise InvalidInput(
            "Give this request a name of 1 to 200 letters, digits and signs. If no answer comes, "
            "send it again with the same name: it is done only once.",
            field=IDEMPOTENCY_KEY,
        )
    return name


def id_named(dataset: Dataset, what: str, name: str) -> UUID:
    """Return the id of the object that a request creates.

    The id is computed from the dataset, the kind of object `what` and the client's `name` for the
    request. Since the id depends on the dataset, no name can refer to another organisation's job. A
    draw of noise is looked up by the id of its job, even after the database was restored from a
    backup. A new dataset may then get the primary key of a dataset that was declared after the
    backup and lost, but must not get that dataset's draws. The id therefore also depends on the
    time at which the dataset was declared.
    """
    facts = f"dpgeo {what} {dataset.pk} {dataset.created_at.isoformat()} {name}"
    digest = hashlib.sha256(facts.encode()).digest()
    return UUID(bytes=digest[:16], version=5)
