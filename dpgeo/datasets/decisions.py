"""Decisions that must survive a restore, each stored as a small file beside the data.

A database that is restored from a backup has lost the decisions made since that backup: it would
bring back a person who was erased, publish what was withdrawn, and treat a budget as larger than
promised. Each such decision is therefore also written to a file in the folder `journal` of the
private storage, which outlives the database and is in every backup. The file is written inside the
decision's transaction, so a decision whose transaction fails at the very end may leave a file. A
restore then erases or withdraws without need, which costs utility but never privacy.

A file holds the keyed hash of an erased person, as the database does, and nothing else from the
data.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.files.base import ContentFile
from django.utils import timezone

from dpgeo.datasets.orphan_files import stored_names
from dpgeo.datasets.storage import private_storage

JOURNAL = "journal"

ERASED, READMITTED, TOTAL, MERGED = "erased", "readmitted", "total", "merged"
"""Kinds of decisions that are recorded; the final states of releases are further kinds."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A recorded decision: its kind, its time, and its details by name."""

    kind: str
    at: datetime
    facts: dict[str, Any]


def decision_record(kind: str, **facts: Any) -> None:
    """Write a decision with its `facts` to the private storage.

    Call this last in the decision's transaction.
    """
    at = timezone.now()
    name = f"{JOURNAL}/{at:%Y%m%dT%H%M%S%f}-{secrets.token_hex(8)}.json"
    document = {"kind": kind, "at": at.isoformat(), **facts}
    private_storage().save(name, ContentFile(json.dumps(document).encode()))


def decisions() -> Iterator[Decision]:
    """Yield all decisions in the order of their times, skipping incomplete files.

    A file is incomplete only if the process was killed before its decision was committed.
    """
    storage = private_storage()
    for name in sorted(stored_names(storage, JOURNAL)):
        with storage.open(name, "rb") as file:
            text = file.read()
        try:
            facts = json.loads(text)
            yield Decision(facts.pop("kind"), datetime.fromisoformat(facts.pop("at")), facts)
        except (ValueError, KeyError):
            continue
