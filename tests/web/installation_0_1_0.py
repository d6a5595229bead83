"""Makes `installation_0_1_0.tar.xz`, the folder of an installation that version 0.1.0 filled.

    python -m tests.web.installation_0_1_0 OUT.tar.xz

The code of 0.1.0 is unpacked from this repository's history (the commit `VERSION_0_1_0`), and its
own migrations and services make everything, under the Python that runs this. Its people are
invented: 60 persons with 800 rows. Identifiers, keys and noise are drawn anew each time, so the
archive is never the same twice. The command prints the constants that `test_upgrade.py` has to be
given with a new archive; `fill` says what the installation holds.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import subprocess
import sys
import tarfile
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]

VERSION_0_1_0 = "4a3842ebd3245445a2e24438e930c1165a462735"
"""The commit that is version 0.1.0."""

KEPT = ("dpgeo.sqlite3", "private", "releases", "secret-key")
"""Files and folders of an installation that the archive contains; the site remakes all others."""

AREA = {
    "type": "Polygon",
    "coordinates": [[[10.0, 50.0], [10.1, 50.0], [10.1, 50.1], [10.0, 50.1], [10.0, 50.0]]],
}


def people() -> bytes:
    """Return a CSV file of 800 rows of 60 invented persons, p1 to p60, in the study area."""
    drawn = random.Random(1)  # noqa: S311
    lines = ["who,lat,lon,seen"]
    for number in range(800):
        who = number % 60 + 1
        lat, lon = drawn.uniform(50.0, 50.1), drawn.uniform(10.0, 10.1)
        at = f"2026-10-{number % 28 + 1:02}T10:{number % 60:02}:{number % 60:02}"
        lines.append(f"p{who},{lat:.5f},{lon:.5f},{at}")
    return "\n".join([*lines, ""]).encode()


def fill() -> None:
    """Fill the installation in the folder `DPGEO_VAR`; runs only on the code of version 0.1.0.

    It makes two members and an API key; a dataset with a published map, an erased person, a draft,
    a withdrawn map and a request that waits; and a dataset with moved points. Prints the constants
    that the test needs.
    """
    import django

    django.setup()
    from django.core.management import call_command

    from dpgeo.accounts.models import Role, User
    from dpgeo.accounts.services import key_create, membership_set, organisation_create
    from dpgeo.core.levels import make_level
    from dpgeo.datasets.erasure import person_erase
    from dpgeo.datasets.ingest_job import upload_ingest
    from dpgeo.datasets.services import dataset_create
    from dpgeo.datasets.uploads import upload_confirm, upload_receive
    from dpgeo.ingest.schema import Columns
    from dpgeo.releases.models import Release
    from dpgeo.releases.services import (
        release_publish,
        release_request,
        release_run,
        release_withdraw,
    )

    call_command("migrate", verbosity=0)
    ann = User.objects.create_user(username="ann", password="water under bridges")  # noqa: S106
    olga = User.objects.create_user(username="olga", password="bridges over water")  # noqa: S106
    office = organisation_create(name="Vessby transport office")
    membership_set(organisation=office, user=ann, role=Role.APPROVER)
    membership_set(organisation=office, user=olga, role=Role.ADMINISTRATOR)
    _, secret = key_create(
        organisation=office, name="traffic counter", scopes=["datasets:write"], created_by=olga
    )

    def declare(title: str, slug: str, **more: Any) -> Any:
        dataset = dataset_create(
            organisation=office, title=title, slug=slug, licence="CC BY 4.0", unit="person",
            study_area=AREA, time_zone="Europe/Berlin", budget=Fraction(4), created_by=None,
            at_console=True, **more,
        )  # fmt: skip
        upload = upload_receive(
            dataset=dataset, file=io.BytesIO(people()), file_name=f"{slug}.csv", created_by=None
        )
        columns = Columns(person="who", latitude="lat", longitude="lon", time="seen")
        # Mypy checks this call against today's service, which no longer has this parameter.
        upload_confirm(upload=upload, columns=columns, confirmed_by=None)  # type: ignore[call-arg]
        assert upload_ingest(upload_id=upload.pk)
        return dataset

    def request(dataset: Any, title: str, **changes: Any) -> Any:
        asked: dict[str, Any] = {
            "mechanism": "uniform-grid",
            "parameters": {"cells": 8},
            "epsilon": "0.5",
            "bound": 5,
            "counting": "people",
            **changes,
        }
        return release_request(dataset=dataset, title=title, requested_by=ann, **asked)

    def draw(dataset: Any, title: str, **changes: Any) -> Any:
        release = request(dataset, title, **changes)
        assert release_run(release_id=release.pk)
        return Release.objects.get(pk=release.pk)

    trips = declare("Trips through Vessby", "vessby")
    published = release_publish(release=draw(trips, "Published"), by=ann)
    erased = person_erase(dataset=trips, person="p7", by=ann)
    assert upload_ingest(upload_id=erased.pk)
    draft = draw(trips, "Draft", mechanism="adaptive-grid", parameters={}, epsilon="0.25")
    withdrawn = release_publish(release=draw(trips, "Withdrawn"), by=ann)
    release_withdraw(release=withdrawn, by=ann)
    waiting = request(trips, "Waiting", epsilon="0.25")
    reports = declare("Reports of Vessby", "reports", points_budget=make_level("ln 16", 200))
    points = draw(
        reports, "Points", mechanism="planar-laplace", epsilon=None, bound=2, counting="visits",
        parameters={"level": "ln 4", "radius": 200, "cells": 8},
    )  # fmt: skip
    # Compact the database into one file, without a write-ahead log and without deleted rows.
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode = DELETE")
        cursor.execute("VACUUM")
    keys = [release.pk for release in (published, draft, withdrawn, waiting, points)]
    listed = "".join(f'    "{key}",\n' for key in keys)
    sys.stdout.write(
        f'SECRET = "{secret}"  # noqa: S105\n\n'
        f"PUBLISHED, DRAFT, WITHDRAWN, WAITING, POINTS = (\n{listed})\n"
    )


def make(target: Path) -> str:
    """Write the archive to `target`; return the text of the constants for the test.

    Raises CalledProcessError.
    """
    with tempfile.TemporaryDirectory() as name:
        code, made = Path(name, "code"), Path(name, "var")
        packed = subprocess.run(
            ["git", "archive", VERSION_0_1_0, "dpgeo", "manage.py", "locale"],
            cwd=ROOT, stdout=subprocess.PIPE, check=True,
        )  # fmt: skip
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
            archive.extractall(code, filter="data")
        # The option -P keeps this file's folder out of sys.path, so that the old code imports its
        # own modules, not today's.
        filled = subprocess.run(
            [sys.executable, "-P", __file__, "--fill"],
            cwd=code, stdout=subprocess.PIPE, text=True, check=True,
            env={
                "PATH": os.environ["PATH"], "PYTHONPATH": str(code), "DPGEO_VAR": str(made),
                "DJANGO_SETTINGS_MODULE": "dpgeo.config.settings",
            },
        )  # fmt: skip
        with tarfile.open(target, "w:xz") as archive:
            for each in KEPT:
                archive.add(made / each, each, filter=_of_nobody)
        return filled.stdout


def _of_nobody(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Remove the name of the account that made the archive from one of its entries."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Make the archive of an installation of 0.1.0.")
    parser.add_argument("out", type=Path, nargs="?", help="the archive to write")
    parser.add_argument("--fill", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fill:
        fill()
    elif options.out is None:
        parser.error("say where to write the archive")
    else:
        sys.stdout.write(make(options.out))
