"""Names that clients give to requests, so that a repeated request is done once."""

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
    """Read the name that the client gives to its request. Raises InvalidInput without one.

    Without one, a request that is sent again because its answer was lost would be paid for twice,
    and what is spent never comes back.
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
    """Return the id of what a request makes, from its dataset and the client's name for it.

    The dataset is part of the id, so that no name refers to a job of another organisation. A draw
    is found again by the id of its job, even after a backup was restored. After a restore a new
    dataset may get the primary key of a lost one, and must not get the lost dataset's draws: the
    time at which a dataset was declared is therefore part of the id too.
    """
    facts = f"dpgeo {what} {dataset.pk} {dataset.created_at.isoformat()} {name}"
    digest = hashlib.sha256(facts.encode()).digest()
    return UUID(bytes=digest[:16], version=5)
