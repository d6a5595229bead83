"""Vector tiles from another server, for maps outside this site's basemaps.

They are off unless the operator names a server, because that server learns the network address of
each visitor of such a map, and which place the visitor looks at.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from dpgeo.core.errors import InvalidInput
from dpgeo.ground.archives import WORLD
from dpgeo.ground.regions import Bounds

MARKS = ("{z}", "{x}", "{y}")

MAX_ZOOM = 22

HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", re.IGNORECASE)

THIS_MACHINE = frozenset({"localhost", "127.0.0.1"})
"""Hosts that may be contacted without encryption."""

MAX_ATTRIBUTION_LENGTH = 200

URL, ATTRIBUTION, ZOOMS = (
    "DPGEO_GROUND_URL",
    "DPGEO_GROUND_ATTRIBUTION",
    "DPGEO_GROUND_ZOOMS",
)
"""Names of the settings, as shown in errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideGround:
    """Tiles in the Shortbread schema at `tiles`, an address with {z}, {x} and {y}.

    `origin` is the scheme, host and port; `host` is the same without the scheme, for people.
    """

    tiles: str
    origin: str
    host: str
    attribution: str
    zooms: tuple[int, int]
    bounds: Bounds = WORLD


def read_outside(url: str, attribution: str, zooms: str) -> OutsideGround | None:
    """Read the operator's settings for tiles from another server; None if `url` is empty.

    `zooms` are the lowest and highest zoom of the tiles, such as "0-14". Raises InvalidInput.
    """
    if not url:
        return None
    for mark in MARKS:
        if url.count(mark) != 1:
            raise InvalidInput("Has {mark} not exactly once.", mark=mark, field=URL)
    origin, host = _origin(url)
    credit = attribution.strip()
    if not credit:
        raise InvalidInput(
            "Is missing; say whose data the tiles are, such as © OpenStreetMap contributors.",
            field=ATTRIBUTION,
        )
    if len(credit) > MAX_ATTRIBUTION_LENGTH or not credit.isprintable():
        raise InvalidInput(
            "Must be one line of at most {longest} characters.",
            longest=MAX_ATTRIBUTION_LENGTH,
            field=ATTRIBUTION,
        )
    return OutsideGround(
        tiles=url, origin=origin, host=host, attribution=credit, zooms=_zooms(zooms)
    )


def _origin(url: str) -> tuple[str, str]:
    """Return the origin of a URL, and its host with the port. Raises InvalidInput."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise InvalidInput("Is not an address.", field=URL) from None
    # The host goes into the header that allows pages to load tiles from it, so it must not contain
    # a wildcard, a placeholder or a password.
    if not HOST.fullmatch(host) or "@" in parts.netloc or not url.isascii() or " " in url:
        raise InvalidInput(
            "Must be an address like https://tiles.example.org/{z}/{x}/{y}.mvt.", field=URL
        )
    if parts.scheme != "https" and not (parts.scheme == "http" and host in THIS_MACHINE):
        raise InvalidInput(
            "Must begin with https, so that nobody on the way sees where visitors look.", field=URL
        )
    named = f"{host}:{port}" if port else host
    return f"{parts.scheme}://{named}", named


def _zooms(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,2})-(\d{1,2})", text)
    if not match or not int(match[1]) <= int(match[2]) <= MAX_ZOOM:
        raise InvalidInput("Must be two zooms, such as 0-14.", field=ZOOMS)
    return int(match[1]), int(match[2])
