"""Publisher's notes: short texts that a publisher places on a map.

Notes are the publisher's own words, not figures from the release, so noise does not protect what
they say. They can be written only while the release is a draft, and publication makes them final.
Whoever publishes the release must give the checksum of the notes that they have read (`checksum`),
so that notes changed in the meantime are never published unread.
"""

from __future__ import annotations

import hashlib
import json
import math
import unicodedata
from collections.abc import Mapping, Sequence
from typing import TypedDict

from dpgeo.accounts.models import User
from dpgeo.accounts.selectors import may
from dpgeo.core.errors import Conflict, InvalidInput, NotAllowed
from dpgeo.datasets.texts import clean_text
from dpgeo.releases.models import Release
from dpgeo.releases.states import ACTIONS, ReleaseState
from dpgeo.spatial.area import StudyArea

MAX_NOTES = 5

MAX_NOTE_LENGTH = 90
"""Maximum length of a note's text, in characters."""

JOINERS = "\u200c\u200d"
"""Invisible characters that some scripts need within words."""

DIGITS = 6
"""Decimal places of a position in degrees; the last one is about a decimetre on the
ground.
"""


class Note(TypedDict):
    """A text and its position in degrees."""

    text: str
    longitude: float
    latitude: float


def clean_notes(given: object, area: StudyArea) -> list[Note]:
    """Validate a list of notes and return it.

    Each note is one line of plain text at a position in the study area. Raises InvalidInput
    for the field `notes`.
    """
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise InvalidInput("Must be a list, [...].", field="notes")
    if len(given) > MAX_NOTES:
        raise InvalidInput(
            "Has {count} notes; keep the {most} that matter most.",
            count=len(given),
            most=MAX_NOTES,
            field="notes",
        )
    return [_clean_note(number, each, area) for number, each in enumerate(given, start=1)]


def _clean_note(number: int, given: object, area: StudyArea) -> Note:
    if not isinstance(given, Mapping) or set(given) != set(Note.__annotations__):
        raise InvalidInput(
            "Note {number} must have text, longitude and latitude, and nothing else.",
            number=number,
            field="notes",
        )
    if not isinstance(given["text"], str):
        raise InvalidInput("Note {number} must be text.", number=number, field="notes")
    text = clean_text(given["text"], field="notes", longest=MAX_NOTE_LENGTH, required=True)
    # Characters that reverse the direction of text could change how the page around a note reads.
    signs = {sign for sign in text if sign not in JOINERS}
    if {unicodedata.category(sign) for sign in signs} & {"Cc", "Cf", "Zl", "Zp"}:
        raise InvalidInput(
            "Note {number} must be one line of plain text.", number=number, field="notes"
        )
    longitude, latitude = _degrees(given["longitude"]), _degrees(given["latitude"])
    if not area.covers([longitude], [latitude])[0]:
        raise InvalidInput(
            "Note {number} lies outside the study area; put it on the map.",
            number=number,
            field="notes",
        )
    return Note(text=text, longitude=longitude, latitude=latitude)


def _degrees(given: object) -> float:
    """Return a coordinate rounded to DIGITS decimals, or NaN for anything else.

    A position with a NaN coordinate lies in no study area.
    """
    if isinstance(given, bool) or not isinstance(given, int | float) or abs(given) > 180:
        return math.nan
    return round(float(given), DIGITS)


def checksum(notes: Sequence[Note]) -> str:
    """Return the SHA-256 checksum of notes; "" if there are none."""
    if not notes:
        return ""
    text = json.dumps(notes, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def release_annotate(*, release: Release, by: User | None, notes: object) -> Release:
    """Replace the notes of a draft.

    If the author of the notes may not publish, the draft is no longer published
    automatically, but waits for an approver. `by` is None for the operator at the console.
    Raises NotAllowed, InvalidInput, and Conflict if the release is no longer a draft.
    """
    if by is not None and not may(by, release.dataset, "request"):
        raise NotAllowed(ACTIONS["cancel"].denied)
    cleaned = clean_notes(notes, release.dataset.area)
    facts: dict[str, object] = {"notes": cleaned, "notes_sha256": checksum(cleaned)}
    if by is not None and not may(by, release.dataset, "publish"):
        facts["publish_when_done"] = False
    if not Release.objects.filter(pk=release.pk, state=ReleaseState.DRAFT).update(**facts):
        raise Conflict("Only the notes of a draft can be changed; publication fixes them.")
    release.refresh_from_db()
    return release


def check_read(release: Release, notes_sha256: str) -> None:
    """Raise Conflict unless `notes_sha256` is the checksum of the release's current notes."""
    if release.notes_sha256 != notes_sha256:
        raise Conflict(
            "Its notes are published with it: read them as they are now, and publish again.",
            field="notes_sha256",
        )
