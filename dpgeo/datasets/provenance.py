"""Provenance of public geometry: a named public source, or a published release.

A publisher declares what is "public", but the publisher also holds the private data. A density made
from the places in the rows would undo the noise of remapped points, and an outline drawn around the
rows would show where they end. The software cannot see where a publisher got a file, but it does
know two things: the order in which layers and uploads arrived, and which layers it made itself from
a published release. Statements tell readers these two facts, repeat the source that the publisher
names, and claim no more.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

from django.utils import timezone

from dpgeo.blanks import trim
from dpgeo.core.errors import InvalidInput
from dpgeo.datasets.texts import clean_text
from dpgeo.phrases import Phrase

LONGEST_URL = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicSource:
    """A public source as the publisher states it: its name, its URL and its date."""

    name: str
    url: str
    date: datetime.date

    @classmethod
    def read(cls, stated: Mapping[str, object], *, field: str) -> Self:
        """Read the source that a publisher `stated`, from the members name, url and date.

        Raises InvalidInput if a member is missing or invalid.
        """
        texts = {part: trim(str(stated.get(part) or "")) for part in PARTS}
        for part, words in PARTS.items():
            if not texts[part]:
                raise InvalidInput("Lacks {part}; give it.", part=words, field=field)
        return cls(
            name=clean_text(texts["name"], field=field, longest=200),
            url=_clean_url(texts["url"], field),
            date=_clean_date(texts["date"], field),
        )

    def to_json(self) -> dict[str, str]:
        """Return the source as plain JSON."""
        return {"name": self.name, "url": self.url, "date": self.date.isoformat()}


@dataclass(frozen=True, slots=True)
class ReleaseSource:
    """The published release from which the software itself made a layer."""

    release: str


Provenance = PublicSource | ReleaseSource

PARTS = {
    "name": Phrase("the name of the public source"),
    "url": Phrase("the https address of the public source"),
    "date": Phrase("the date of the public source"),
}


def _clean_url(text: str, field: str) -> str:
    """Return a source's https URL. Raises InvalidInput if it is invalid."""
    url = clean_text(text, field=field, longest=LONGEST_URL)
    try:
        parts = urlsplit(url)
        usable = parts.scheme == "https" and parts.hostname and "." in parts.hostname
    except ValueError:
        usable = False
    if not usable or "@" in parts.netloc or any(sign.isspace() for sign in url):
        raise InvalidInput(
            "{url!r} is not an https address; write it like https://example.org/census.",
            url=url,
            field=field,
        )
    return url


def _clean_date(text: str, field: str) -> datetime.date:
    """Parse a source's date. Raises InvalidInput if it is invalid or in the future."""
    try:
        date = datetime.date.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            "{text!r} is not a date; write it like 2026-01-31.", text=text[:40], field=field
        ) from None
    # The date may be one day later than the UTC date, because somewhere on Earth it already is.
    if date > timezone.now().date() + datetime.timedelta(days=1):
        raise InvalidInput("The date of the source lies in the future; correct it.", field=field)
    return date
