"""Facts about a map that lists of maps show, stored with the release so that no blob is read."""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from dataclasses import asdict, dataclass

from django.db import DatabaseError
from django.db.models import Q

from dpgeo.datasets.storage import StoredFileMissing
from dpgeo.pages.release_summary import Summary, build_summary
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import releases_public

logger = logging.getLogger(__name__)

FIELDS = 16
"""Version of the stored cards, the facts on maps for lists.

Increment it when the fields of `Card` or their meanings change, so that cards are made anew.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """Facts of a map for its card in a list, all read from its blob.

    `kind`, `unit` and `counting` are words to translate. `moved` states the cost of moved points,
    and is "" for other maps. `margin` is the margin of a single count, or None if the map has none.
    `looks` holds the renderer of each layer, and `opens` the layer, unit and colour classes to show
    first, both as JSON for the map's script.
    """

    kind: str
    unit: str
    counting: str
    moved: str
    margin: float | None
    looks: str
    opens: str


NO_CARD = Card(kind="", unit="", counting="", moved="", margin=None, looks="", opens="")
"""Card of a map whose blob is missing."""


def release_card(release: Release) -> Card:
    """Return the card of a drawn release, and store it if it was not stored yet.

    A list is whole without a map whose blob is missing, so such a map gets an empty card.
    """
    try:
        return _stored_card(release)
    except StoredFileMissing:
        return NO_CARD


def _stored_card(release: Release) -> Card:
    """Return the card of a drawn release, and store it if it was not stored yet.

    Making a card takes up to a third of a second, because it reads the whole map. Raises
    StoredFileMissing.
    """
    if release.card.get("fields") == FIELDS:
        return Card(**release.card["of"])
    card = make_card(build_summary(release))
    release.card = {"fields": FIELDS, "of": asdict(card)}
    # The page that needs the card is shown even if the card cannot be stored.
    with suppress(DatabaseError):
        Release.objects.filter(pk=release.pk).update(card=release.card)
    return card


def make_card(summary: Summary) -> Card:
    """Return the card of a map, its facts for lists, made from the map's summary."""
    return Card(
        kind=summary.kind,
        unit=summary.unit,
        counting=summary.each_word,
        moved=summary.moved.cost if summary.moved else "",
        margin=summary.figures.count_margin if summary.figures else None,
        looks=summary.looks,
        opens=summary.opens,
    )


_unreadable: set[str] = set()
"""Ids of releases whose `Card` this process could not make; after a restart, it tries again."""


def cards_make(*, seconds: float) -> int:
    """Make and store missing `Card`s (facts for lists) of public maps; return how many were made.

    Stops after about `seconds`. Once a card is stored, visitors of a list need not wait for it.
    """
    until, made = time.monotonic() + seconds, 0
    missing = ~Q(card__fields=FIELDS) | Q(card__fields__isnull=True)
    for release in releases_public().filter(missing).exclude(blob_name="").iterator(chunk_size=20):
        if release.pk in _unreadable:
            continue
        try:
            _stored_card(release)
            made += 1
        except Exception as error:
            # A map that cannot be read must not prevent the cards of other maps, or the other work
            # of the reaper (which calls `cards_make`).
            _unreadable.add(release.pk)
            logger.warning("A card could not be made: %s", type(error).__name__)
        if time.monotonic() > until:
            break
    return made
