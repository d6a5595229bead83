"""`python manage.py perturb --level "ln(4)" --radius 200 ...`: perturb points.

The input is a person's own location (`--lat`, `--lon`), or a file of locations. Nothing is stored
and no budget is charged: whoever publishes the output is responsible for how often the command is
run.
"""

from __future__ import annotations

import csv
from argparse import ArgumentParser
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from dpgeo.commands.console import plain_errors
from dpgeo.core.errors import InvalidInput
from dpgeo.privacy.entropy import SystemEntropy
from dpgeo.privacy.local_planar_laplace import LocalPlanarLaplace

ROWS = 50_000
"""Number of a file's rows that are kept in memory at a time."""


class Command(BaseCommand):
    help = "Moves a position, or those of a CSV file, by planar Laplace noise on the sphere."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--lat", metavar="DEGREES", help="Latitude of one position.")
        parser.add_argument("--lon", metavar="DEGREES", help="Longitude of one position.")
        parser.add_argument(
            "--file", type=Path, help="CSV with columns lon and lat (or longitude, latitude)."
        )
        parser.add_argument(
            "--level",
            required=True,
            help='Such as "ln(4)": odds of four to one, and 1 % of the level for snapping.',
        )
        parser.add_argument("--radius", required=True, help="Metres in which the level is stated.")

    def handle(self, *args: Any, **options: Any) -> None:
        with plain_errors({}):
            mover = LocalPlanarLaplace(
                SystemEntropy(), level=options["level"], radius=options["radius"]
            )
            if options["file"] is not None:
                self._file(mover, options["file"])
                return
            if options["lat"] is None or options["lon"] is None:
                raise InvalidInput("Give --lat and --lon, or --file.")
            lon = degrees(options["lon"], "lon")
            lat = degrees(options["lat"], "lat")
            [east], [north] = mover.move([lon], [lat])
        self.stdout.write(f"{north:.7f} {east:.7f}")
        near, far = mover.noise.radius(0.5), mover.noise.radius(0.95)
        self.stderr.write(f"Half of the time at most {near:,.0f} m away, 95 % {far:,.0f} m.")

    def _file(self, mover: LocalPlanarLaplace, path: Path) -> None:
        """Perturb a file's locations; drop all other columns, which may identify a person."""
        try:
            with path.open(newline="", encoding="utf-8-sig") as file:
                rows = positions(csv.DictReader(file))
                self.stdout.write("lon,lat")
                while part := list(islice(rows, ROWS)):
                    moved = mover.move([lon for lon, _ in part], [lat for _, lat in part])
                    # Sort the points of each part, because their order in the file may identify a
                    # person.
                    pairs = zip(*moved, strict=True)
                    for line in sorted(f"{east:.7f},{north:.7f}" for east, north in pairs):
                        self.stdout.write(line)
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"--file: {error}") from None


def positions(rows: csv.DictReader[str]) -> Iterator[tuple[float, float]]:
    """Yield each row's longitude and latitude.

    Raises InvalidInput with the number of the line if a row is malformed.
    """
    names = {name.strip().lower(): name for name in rows.fieldnames or ()}
    lon = names.get("lon") or names.get("longitude")
    lat = names.get("lat") or names.get("latitude")
    if lon is None or lat is None:
        raise InvalidInput("Needs columns lon and lat.", field="file")
    for row in rows:
        try:
            yield degrees(row[lon], "lon"), degrees(row[lat], "lat")
        except InvalidInput as error:
            raise InvalidInput(
                "Line {row}: {problem}",
                row=rows.line_num,
                problem=error.phrase,
                field="file",
            ) from None


def degrees(text: str | None, field: str) -> float:
    """Parse a number of degrees. Raises InvalidInput for any other text."""
    limit = 180 if field == "lon" else 90
    try:
        number = float(text or "")
    except ValueError:
        number = float("nan")
    if not abs(number) <= limit:
        raise InvalidInput(
            "{text} is not in degrees from -{limit} to {limit}.",
            text=repr(text),
            limit=limit,
            field=field,
        )
    return number
