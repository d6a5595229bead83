"""Damaged and hostile files sent to a site: each is either read or refused with a reason."""

from __future__ import annotations

import gzip
import io
import os
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fixtures import messy
from fixtures.messy import sightings
from tests.hostile import damaged, json_text, value, word
from tests.services.installation import Installation
from tests.services.sites import Answer, Site, program_at, site_of
from tests.tus import announcement, piece_at
from tests.unit.ingest.files import document, feature, geopackage, gpkg_point

AUDIT = os.environ.get("DPGEO_AUDIT") == "1"

FILES = 500 if AUDIT else 24

SAMPLE_FILES = 14
"""Number of files sent in runs that make only a sample of the tests. It is just enough for one odd
file of each kind; the damaged files then cover half of the formats.
"""

pytestmark = [pytest.mark.services, pytest.mark.timeout(7200 if AUDIT else 600)]

MAX_SECONDS = 60.0

Named = tuple[str, bytes]


def long_line(_: Random) -> Named:
    return "line.csv", b"who,lat,lon\nann,50," + b"1" * 3_000_000


def wide_line(_: Random) -> Named:
    return "wide.csv", b",".join(b"c%d" % number for number in range(200_000)) + b"\n"


def packed_zeros(random: Random) -> Named:
    zeros = bytes(random.choice((30, 300)) * 1024**2)
    return "zeros.csv.gz", gzip.compress(zeros, 1)


def packed_names(random: Random) -> Named:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for _ in range(random.choice((1, 3, 2000))):
            name = word(random).encode(errors="replace").decode().lstrip("\0") or "x"
            archive.writestr(name, b"who,lat,lon\na,50,10\n")
    return "names.zip", file.getvalue()


def odd_document(random: Random) -> Named:
    features = [value(random) for _ in range(3)]
    return "odd.geojson", json_text({"type": "FeatureCollection", "features": features}).encode()


def odd_table(random: Random) -> Named:
    mark = random.choice([",", ";", "\t", "|"])
    lines = [mark.join(word(random) for _ in range(4)) for _ in range(20)]
    return "odd.csv", "\n".join(lines).encode("utf-8", "surrogatepass")


def wrong_name(random: Random) -> Named:
    name = random.choice(
        ["a.parquet", "a.gpkg", "a.zip", "a.csv.gz", "a.geojson", "\u202ea.csv", "a"]
    )
    return name, random.randbytes(random.choice((0, 1, 100, 100_000)))


def whole_files(folder: Path) -> list[Named]:
    """Return an undamaged file of each supported kind of format."""
    files = [(name, make(sightings(4, seed=5))) for name, make in messy.FILES.items()]
    points = [("p1", 10.01, 50.01), ("p2", 10.02, 50.02)]
    rows = [(gpkg_point(lon, lat), who, None) for who, lon, lat in points]
    packaged = geopackage(folder / "points.gpkg", rows).read_bytes()
    who, lon, lat = zip(*points, strict=True)
    parquet = io.BytesIO()
    pq.write_table(pa.table({"who": who, "lon": lon, "lat": lat}), parquet)
    return [
        *files,
        ("points.gpkg", packaged),
        ("trips.parquet", parquet.getvalue()),
        ("trips.csv.gz", gzip.compress(files[0][1])),
        ("points.geojson", document([feature(*one) for one in points]).encode()),
    ]


def hostile_files(count: int, folder: Path, random: Random) -> Iterator[Named]:
    """Yield `count` hostile files; half of them are damaged files of the supported formats."""
    whole = whole_files(folder)
    odd = (long_line, wide_line, packed_zeros, packed_names, odd_document, odd_table, wrong_name)
    for number in range(count):
        if number % 2:
            yield odd[number // 2 % len(odd)](random)
        else:
            name, content = whole[number // 2 % len(whole)]
            yield name, damaged(content, random)


def send(site: Site, slug: str, name: str, content: bytes) -> Iterator[Answer]:
    """Send a file, confirm it, and yield the responses up to the first refusal.

    If nothing is refused, the job's state is requested and yielded again and again.
    """
    named = announcement(name, len(content))
    yield (announced := site.ask("POST", f"/api/v1/datasets/{slug}/uploads/tus", **named))
    if announced.status >= 400:
        return
    address = announced.headers["Location"].removesuffix("/tus")
    yield (sent := site.ask("PATCH", f"{address}/tus", content, **piece_at(0)))
    if sent.status >= 400:
        return
    yield (preview := site.ask("GET", f"{address}/preview"))
    suggested = preview.json()["suggested"] if preview.status == 200 else {}
    columns = {role: name for role, name in suggested.items() if name}
    columns = (
        {"person": "who", **columns}
        if columns
        else {"longitude": "lon", "latitude": "lat", "person": "who"}
    )
    yield (confirmed := site.ask("POST", f"{address}/confirm", {"columns": columns}))
    if confirmed.status >= 400:
        return
    job = confirmed.json()["job_url"]
    yield from iter(lambda: site.ask("GET", job), None)


@pytest.mark.parametrize("installation", ["embedded"], indirect=True)
def test_hostile_files_are_read_or_refused(
    installation: Installation, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    count = SAMPLE_FILES if pytestconfig.getoption("--share") > 1 else FILES
    installation.environment |= {
        "DPGEO_CONFIRMATIONS_AN_HOUR": "0",
        "DPGEO_REQUESTS_A_MINUTE": "0",
    }
    facts = installation.ask("house", datasets=count)
    statuses: dict[int, int] = {}
    longest = (0.0, "")
    with installation.worker(), installation.reaper("2"), site_of(installation) as port:
        site = program_at(port, facts)
        files = hostile_files(count, tmp_path, Random(20261123))  # noqa: S311 - the same files in each run
        for number, (slug, (name, content)) in enumerate(
            zip(facts["slugs"], files, strict=True), 1
        ):
            began = time.monotonic()
            for answer in send(site, slug, name, content):
                statuses[answer.status] = statuses.get(answer.status, 0) + 1
                assert answer.status < 500, (name, answer.body[:2000], content[:200])
                seconds = time.monotonic() - began
                assert seconds < MAX_SECONDS, (name, answer.body[:500])
                if b'"state":"done"' in answer.body.replace(b" ", b""):
                    break
                time.sleep(0.02)
            longest = max(longest, (time.monotonic() - began, name))
            if (
                number % 20 == 0 or number == count
            ):  # Progress is printed, so that a run that is cut short leaves some output.
                sys.stderr.write(f"{number} files, answers {statuses}, longest {longest}\n")
        assert site.ask("GET", "/readyz").status == 200
    seen = {state for state, *_ in installation.ask("reports").values()}
    assert "queued" not in seen
    assert {"ready", "failed"} <= seen
