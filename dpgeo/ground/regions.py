"""Basemap regions of an installation: vector tiles and names, side by side in one folder.

A region is a JSON file that refers to its tiles and its names by their checksums. It is replaced in
one step. A file that no region refers to any more is deleted by `sweep` three days later.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from dpgeo.core.errors import InvalidInput

KEY_LENGTH = 12
"""Number of hexadecimal digits of a file's SHA-256 that make up its name."""

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,59}")

TILES, NAMES = ".pmtiles", ".sqlite"

WORLD = "world"
"""Name of the index of the world's towns; no region can have it."""

KEPT_SECONDS = 3 * 24 * 60 * 60
"""Age in seconds at which an unused file is deleted.

It must exceed the day for which pages and outlines are cached.
"""

ATTRIBUTION = "© OpenStreetMap contributors"

Bounds = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """The basemap of one area: its tiles and place names.

    `tiles` and `names` are the checksums that name its files; `names` is "" if it has none.
    `bounds` are west, south, east and north in degrees, and `zooms` the lowest and highest zoom of
    the tiles. `date` is the day of the data (ISO 8601), or "" if it is not known.
    """

    name: str
    attribution: str
    tiles: str
    names: str
    bounds: Bounds
    zooms: tuple[int, int]
    date: str = ""

    def tiles_file(self, folder: Path) -> Path:
        """Return the path of the region's vector tiles."""
        return folder / f"{self.tiles}{TILES}"

    def names_file(self, folder: Path) -> Path:
        """Return the path of the region's place names; `names` must not be ""."""
        return folder / f"{self.names}{NAMES}"

    def touches(self, bounds: Sequence[float]) -> bool:
        """Return whether the region overlaps a box: west, south, east and north in degrees."""
        west, south, east, north = bounds
        own = self.bounds
        return own[0] < east and west < own[2] and own[1] < north and south < own[3]


def world_file(folder: Path) -> Path:
    """Return where the index of the world's towns lies if the operator has built one."""
    return folder / f"{WORLD}{NAMES}"


def world_version(folder: Path) -> tuple[int, int] | None:
    """Return the modification time (ns) and size (bytes) of the index of the world's towns.

    Returns None if no such index was built.
    """
    try:
        status = world_file(folder).stat()
    except FileNotFoundError:
        return None
    return status.st_mtime_ns, status.st_size


def regions(folder: Path) -> list[Region]:
    """Return all regions, ordered by name."""
    found = []
    for path in sorted(folder.glob("*.json")):
        with suppress(FileNotFoundError):  # the operator removed this region after it was found
            found.append(_read(path))
    return found


def region_of(folder: Path, name: str) -> Region:
    """Return the region with a name. Raises InvalidInput if there is none."""
    path = folder / f"{checked_name(name)}.json"
    if not path.exists():
        raise InvalidInput("There is no ground called {name!r}.", field="name", name=name)
    return _read(path)


def region_save(folder: Path, region: Region) -> None:
    """Add a region, or replace the one of the same name, and delete old files that are not used."""
    _touch_files(folder, region.name)
    with new_file(folder) as path:
        path.write_text(json.dumps(asdict(region), ensure_ascii=False, indent=1), encoding="utf-8")
        path.replace(folder / f"{region.name}.json")
    sweep(folder)


def region_remove(folder: Path, name: str) -> None:
    """Remove the region with a name, or the world's towns. Raises InvalidInput if there is none."""
    if name == WORLD and world_file(folder).exists():
        world_file(folder).unlink()
        return
    region_of(folder, name)
    _touch_files(folder, name)
    (folder / f"{name}.json").unlink()
    sweep(folder)


def _touch_files(folder: Path, name: str) -> None:
    """Set the modification time of a region's files to now; `sweep` counts their age from then."""
    for region in (each for each in regions(folder) if each.name == name):
        for path in (region.tiles_file(folder), region.names_file(folder)):
            if path.exists():
                os.utime(path)


def sweep(folder: Path) -> None:
    """Delete files that no region refers to and that were stored over `KEPT_SECONDS` ago."""
    named = {each.tiles_file(folder) for each in regions(folder)}
    named |= {each.names_file(folder) for each in regions(folder)} | {world_file(folder)}
    for path in folder.glob("*"):
        if path.suffix not in {TILES, NAMES} or path in named:
            continue
        if path.stat().st_mtime < time.time() - KEPT_SECONDS:
            path.unlink(missing_ok=True)


def store(folder: Path, path: Path) -> str:
    """Move a finished file to a name made from its checksum, and return the checksum."""
    with path.open("rb") as file:
        key = hashlib.file_digest(file, "sha256").hexdigest()[:KEY_LENGTH]
    path.chmod(0o644)
    os.utime(path)
    path.replace(folder / f"{key}{path.suffix}")
    return key


@contextmanager
def new_file(folder: Path, suffix: str = "") -> Iterator[Path]:
    """Yield a path with this suffix for a new file; delete whatever is still there at the end."""
    folder.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".new-", suffix=suffix, dir=folder)
    os.close(handle)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


@contextmanager
def temporary_files_in(folder: Path) -> Iterator[None]:
    """Within the block, let libraries make their temporary files in a folder.

    The temporary files for a country's basemap are large, and a container's usual folder holds 64
    MB.
    """
    import pyogrio

    folder.mkdir(parents=True, exist_ok=True)
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    pyogrio.set_gdal_config_options({"CPL_TMPDIR": str(folder)})
    try:
        yield
    finally:
        tempfile.tempdir = before
        pyogrio.set_gdal_config_options({"CPL_TMPDIR": None})


def checked_name(name: str) -> str:
    """Return `name` if it is a valid name for a region; raise InvalidInput otherwise."""
    if not NAME.fullmatch(name):
        raise InvalidInput(
            "Use 1 to 60 small letters a to z, digits and hyphens, such as liechtenstein.",
            field="name",
        )
    if name == WORLD:
        raise InvalidInput(
            "The name {name!r} is that of the world's towns; choose another.",
            name=name,
            field="name",
        )
    return name


def _read(path: Path) -> Region:
    fields = json.loads(path.read_text(encoding="utf-8"))
    return Region(**fields | {"bounds": tuple(fields["bounds"]), "zooms": tuple(fields["zooms"])})
