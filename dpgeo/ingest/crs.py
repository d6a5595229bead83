"""Declared projection of an upload's coordinates, and conversion to WGS84.

A projection can only be declared by its code in a public register, because definitions as text
could name files on this machine. There may be several transformations between two datums. One of
them is chosen, based on the code and the study area, and used for all rows. By default, PROJ would
try the next transformation for each position where the first one fails. That would still treat
every row on its own, but it would leave a seam where two transformations meet.
"""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.errors import InvalidInput
from dpgeo.phrases import Phrase

WGS84 = "EPSG:4326"
IN_DEGREES = {WGS84, "OGC:CRS84"}
THE_FILE = Phrase("The file")

MAX_SYSTEMS = 40
"""Maximum number of projected systems that a preview tries."""

CODE = re.compile(r"(?:EPSG|ESRI|OGC):[A-Z0-9]{1,12}")

Bounds = tuple[float, float, float, float]
Pair = tuple[NDArray[np.float64], NDArray[np.float64]]


def clean_crs(text: str) -> str:
    """Normalise a code: "epsg:2056" and "2056" are EPSG:2056, "" is EPSG:4326."""
    text = text.strip().upper()
    return f"EPSG:{text}" if text.isdecimal() else text or WGS84


def suggested_code(stated: str) -> str:
    """Return the code to suggest to the owner, given the coordinate system that a file states.

    It is EPSG:4326 if the file states no code, or OGC:CRS84.
    """
    code = clean_crs(stated)
    return code if CODE.fullmatch(code) and code not in IN_DEGREES else WGS84


def has_limits(crs: str) -> bool:
    """Return whether the system's coordinates are limited to -180 to 180 and -90 to 90 degrees."""
    return crs in IN_DEGREES or bool(_system(crs).is_geographic)


def check_crs(crs: str, bounds: Bounds) -> None:
    """Raise InvalidInput (field "columns.crs") unless positions can be converted to degrees."""
    if crs in IN_DEGREES:
        return
    system = _system(crs) if CODE.fullmatch(crs) else None
    if system is None:
        raise InvalidInput(
            "There is no coordinate system {crs!r}; give its code, such as EPSG:4326 for "
            "longitude and latitude in degrees or EPSG:25832 for UTM zone 32.",
            crs=crs[:60],
            field="columns.crs",
        )
    flat = len(system.axis_info) == 2 and (system.is_geographic or system.is_projected)
    if not flat or _way(crs, bounds) is None:
        raise InvalidInput(
            "Positions in {crs} ({name}) cannot be turned into longitude and latitude here; "
            "export them in EPSG:4326.",
            crs=crs,
            name=system.name,
            field="columns.crs",
        )


def to_wgs84(x: NDArray[np.float64], y: NDArray[np.float64], crs: str, bounds: Bounds) -> Pair:
    """Convert eastings and northings, float64 (n,), to longitude and latitude.

    A position that cannot be converted gives values that are not finite. `bounds`, the study
    area's in degrees, decide which transformation is used.
    """
    if crs in IN_DEGREES:
        return x, y
    longitude, latitude = _way(crs, bounds).transform(x, y, errcheck=False)
    return longitude, latitude


def check_stated(stated: str, declared: str, what: Phrase = THE_FILE) -> None:
    """Raise InvalidInput if a file states another coordinate system than the declared one.

    `stated` is the code of the system that the file states, its name if the file gives no code, or
    "" if it states none. `what` is what the error message calls the file.
    """
    known = clean_crs(stated)
    if not stated or known == declared or {known, declared} <= IN_DEGREES:
        return
    remedy = (
        Phrase("declare {code}", code=known)
        if CODE.fullmatch(known)
        else Phrase("reproject the file to EPSG:4326")
    )
    raise InvalidInput(
        "{what} is in {stated!r}, but {declared} is declared; {remedy}, or export the file in "
        "{declared} (in geopandas: .to_crs({declared!r})).",
        what=what,
        stated=stated[:60],
        declared=declared,
        remedy=remedy,
        field="columns.crs",
    )


def crs_name(code: str) -> Phrase:
    """Return the name under which people know the coordinate system with this code."""
    if code in IN_DEGREES:
        return Phrase("longitude and latitude in degrees")
    system = _system(code) if CODE.fullmatch(code) else None
    return Phrase("{name} ({code})", name=system.name if system else "?", code=code)


def likely_systems(bounds: Bounds) -> list[str]:
    """Return codes of projected systems used throughout an area, starting with the most local."""
    from pyproj.aoi import AreaOfInterest
    from pyproj.database import query_crs_info
    from pyproj.enums import PJType

    infos = query_crs_info(
        auth_name="EPSG",
        pj_types=PJType.PROJECTED_CRS,
        area_of_interest=AreaOfInterest(*bounds),
        contains=True,
    )

    def rank(info: Any) -> tuple[bool, float]:
        use = info.area_of_use
        rare = (
            "(N-E)" in info.name
            or "WGS 72" in info.name
            or "(E-N)" in info.name
            or 10_000 <= int(info.code) < 20_000
        )
        return rare, (use.east - use.west) * (use.north - use.south)

    usual = sorted((info for info in infos if not info.deprecated and info.area_of_use), key=rank)
    codes = dict.fromkeys(f"EPSG:{info.code}" for info in usual if info.code.isdecimal())
    return [*list(codes)[:MAX_SYSTEMS], "EPSG:3857"]


@lru_cache(maxsize=64)
def _system(crs: str) -> Any:
    """Return the coordinate system with a code, or None if there is none."""
    from pyproj import CRS
    from pyproj.exceptions import CRSError

    try:
        return CRS.from_authority(*crs.split(":", 1))
    except CRSError:
        return None


@lru_cache(maxsize=64)
def _way(crs: str, bounds: Bounds) -> Any:
    """Return the transformation to degrees that is used for all rows, or None if there is none."""
    from pyproj.exceptions import ProjError
    from pyproj.network import set_network_enabled  # type: ignore[attr-defined]
    from pyproj.transformer import AreaOfInterest, TransformerGroup

    set_network_enabled(False)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PROJ warns if a better grid could be downloaded
            group = TransformerGroup(
                _system(crs), WGS84, always_xy=True, area_of_interest=AreaOfInterest(*bounds)
            ).transformers
    except (ProjError, IndexError):  # pyproj raises IndexError if there is no transformation
        return None
    return group[0] if group else None
