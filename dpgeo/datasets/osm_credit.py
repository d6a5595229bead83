"""The credit that OpenStreetMap's licence (ODbL) requires of geometry taken from its data."""

from __future__ import annotations

from collections.abc import Iterable

OPEN_STREET_MAP_CREDIT = "Boundaries © OpenStreetMap contributors, ODbL 1.0"


def credited(attribution: str, sources: Iterable[str]) -> str:
    """Return an attribution, with OpenStreetMap's credit added if a source names OpenStreetMap.

    An attribution that names OpenStreetMap already is returned unchanged.
    """
    named = any("OpenStreetMap" in each for each in sources)
    if not named or "OpenStreetMap" in attribution:
        return attribution
    return "; ".join(filter(None, [attribution, OPEN_STREET_MAP_CREDIT]))
