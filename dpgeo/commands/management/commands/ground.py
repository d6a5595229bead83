"""`python manage.py ground`: manage the basemap of streets, water and names."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import date
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from dpgeo.commands.console import plain_errors
from dpgeo.datasets.names_on_maps import world_places
from dpgeo.ground import regions
from dpgeo.ground.adding import ground_add, search_build, world_build
from dpgeo.ground.regions import WORLD, Bounds, Region

SUFFIXES = (".pmtiles", ".mbtiles", ".osm.pbf")
"""Endings of the files that are added from a folder: tiles, then OpenStreetMap extracts."""


class Command(BaseCommand):
    help = "Adds, lists and removes ground: vector tiles of streets and water, with their names."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        adding = actions.add_parser("add", help="add or replace a region")
        adding.add_argument(
            "file", type=Path, help=".pmtiles, .mbtiles or .osm.pbf; or a folder of them"
        )
        adding.add_argument("--name", help="such as liechtenstein; a folder's files have their own")
        adding.add_argument("--attribution", default="", help="shown on every map over this ground")
        adding.add_argument("--date", default="", help="day of the data: 2026-11-01")
        adding.add_argument("--bbox", default="", help="the part to keep: west,south,east,north")
        actions.add_parser("list", help="list all regions")
        removing = actions.add_parser("remove", help="remove a region")
        removing.add_argument("name")
        building = actions.add_parser("build-search", help="build a region's search anew")
        building.add_argument("name", help=f"a region, or {WORLD} for the towns of the world")
        building.add_argument(
            "extract",
            type=Path,
            nargs="?",
            help=".osm.pbf, for outlines and further names, too; "
            f"for {WORLD} a table of GeoNames, such as cities15000.zip",
        )
        building.add_argument("--date", default="", help="day of that table: 2026-11-01")

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        folder = Path(settings.GROUND_DIR)
        fields = {"file": "FILE", "name": "--name", "bbox": "--bbox", "extract": "EXTRACT"}
        with plain_errors(fields):
            if action == "add":
                for name, path, extract in _files(options["file"], options["name"]):
                    self._tell(
                        ground_add(
                            folder,
                            path,
                            name=name,
                            attribution=options["attribution"],
                            bounds=_bounds(options["bbox"]),
                            date=_day(options["date"]),
                            extract=extract,
                        )
                    )
            elif action == "build-search" and options["name"] == WORLD:
                self._build_world(folder, options["extract"], _day(options["date"]))
            elif action == "build-search":
                self._tell(search_build(folder, options["name"], options["extract"]))
            elif action == "remove":
                regions.region_remove(folder, options["name"])
            else:
                for region in regions.regions(folder):
                    self._tell(region)
                if regions.world_file(folder).exists():
                    size = regions.world_file(folder).stat().st_size
                    self.stdout.write(f"{WORLD}: towns of GeoNames, {size / 1e6:.1f} MB")

    def _build_world(self, folder: Path, table: Path | None, day: str) -> None:
        if table is None:
            raise CommandError("EXTRACT: Give a table of GeoNames, such as cities15000.zip.")
        count = world_build(folder, table, world_places(), day)
        self.stdout.write(f"{WORLD}: {count:,} towns and countries, with all of their names.")

    def _tell(self, region: Region) -> None:
        west, south, east, north = region.bounds
        size = (Path(settings.GROUND_DIR) / f"{region.tiles}{regions.TILES}").stat().st_size
        self.stdout.write(
            f"{region.name}: {west:.3f},{south:.3f},{east:.3f},{north:.3f}, zooms "
            f"{region.zooms[0]} to {region.zooms[1]}, {size / 1e6:.1f} MB, {region.attribution}"
        )


def _day(text: str) -> str:
    """Parse a calendar day; return "" for an empty text."""
    try:
        return date.fromisoformat(text).isoformat() if text else ""
    except ValueError:
        raise CommandError("--date: Give a day, such as 2026-11-01.") from None


def _bounds(text: str) -> Bounds | None:
    """Parse west,south,east,north; return None for an empty text."""
    if not text:
        return None
    try:
        west, south, east, north = (float(each) for each in text.split(","))
    except ValueError:
        raise CommandError(
            "--bbox: Give west,south,east,north, such as 9.4,47.0,9.7,47.3."
        ) from None
    return west, south, east, north


def _files(path: Path, name: str | None) -> list[tuple[str, Path, Path | None]]:
    """Return each region to add: its name, its file, and the OpenStreetMap extract from which
    places can be searched, or None.

    In a folder, files with the same name belong to one region, which gets that name. Raises
    CommandError for a single file without `name`, and for a folder with a `name` or without files.
    """
    if not path.is_dir():
        if name is None:
            raise CommandError("--name: Name the region, such as liechtenstein.")
        return [(name, path, None)]
    found: dict[str, list[Path]] = {}
    for suffix in SUFFIXES:
        for each in sorted(path.glob(f"*{suffix}")):
            found.setdefault(each.name.partition(".")[0], []).append(each)
    if name is not None or not found:
        raise CommandError(f"FILE: {path} needs files ({', '.join(SUFFIXES)}), and no --name.")
    return [(each, files[0], _extract(files[1:])) for each, files in found.items()]


def _extract(files: list[Path]) -> Path | None:
    return next((each for each in files if each.name.endswith(SUFFIXES[-1])), None)
