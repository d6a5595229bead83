"""Simulation of a new owner who publishes a map from any file with the default settings.

The benchmark starts its own installation, signs in, and presses the main button of each page.
Without `--area` or `--place` it takes the city nearest to the rows, and says which ("given" is
false). It prints how each column was understood, which decisions were made, what the map shows
first, and the error of the layer that is shown first. Only a benchmark may compute that error,
because it compares the map with the true counts.
"""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.firstmap_film import filmed, make_map
from benchmarks.firstmap_walk import Page, Walker, cookies_of
from benchmarks.report import report

ROOT = Path(__file__).resolve().parent.parent

NEARBY_DEGREES = 0.1
"""Added to every city's distance, in degrees, so that among near cities the largest is chosen."""

SHOWN = 40
"""Largest number of columns of the uploaded file that are printed."""

Figures = dict[str, Any]


def add_to(subcommands: Any) -> None:
    """Add the subcommand `firstmap` to the command line."""
    parser = subcommands.add_parser("firstmap", help=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--area", default="", help="west,south,east,north; else a place by name")
    parser.add_argument("--place", default="", help="else the city nearest to the rows")
    parser.add_argument("--total", default="1", help="the lifetime epsilon, which has no default")
    parser.add_argument("--film", type=Path, help="go in a browser, and put pictures in here")
    parser.add_argument("--dark", action="store_true", help="film in dark colours, too")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.set_defaults(run=measure)


def measure(options: argparse.Namespace) -> None:
    """Print a line for each step from the file to the published map."""
    with tempfile.TemporaryDirectory(prefix="dpgeo-firstmap-") as name:
        folder = Path(name)
        environment = {
            **os.environ,
            "DPGEO_VAR": str(folder / "var"),
            "DPGEO_JOB_SLOTS": "",
            "DJANGO_SETTINGS_MODULE": "dpgeo.config.settings",
        }
        environment.pop("DATABASE_URL", None)
        os.environ |= environment
        session, csrf = _owner()
        with _site(environment, folder) as port:
            for line in _lines(port, session, csrf, options):
                report(line, options.json)


def _lines(port: int, session: str, csrf: str, options: argparse.Namespace) -> Iterator[Figures]:
    """Make a first map over HTTP or, with `--film`, in a browser; yield figures of each step."""
    from dpgeo.releases.models import Release

    if options.film is None:
        yield from _walk(Walker(port, session, csrf), options)
        return
    place = _place(options)
    yield {"step": "place", **place, "given": bool(options.area or options.place)}
    # Playwright runs an event loop in this thread, in which Django otherwise refuses to use its
    # database.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with filmed(port, cookies_of(session, csrf), options.film, options.dark) as film:
        yield from make_map(film, options.file, place, options.total)
        for release in Release.objects.all():
            yield _opening(release)


def _owner() -> tuple[str, str]:
    """Create an organisation with an administrator; return the administrator's session and CSRF
    token.
    """
    import django

    django.setup()
    from django.conf import settings
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.sessions.backends.db import SessionStore
    from django.core.management import call_command

    from dpgeo.accounts.models import Membership, Organisation, Role, User

    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    user = User.objects.create_user("owner")
    organisation = Organisation.objects.create(name="City", slug="city")
    Membership.objects.create(organisation=organisation, user=user, role=Role.ADMINISTRATOR)
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.create()
    return str(session.session_key), secrets.token_hex(16)


@contextmanager
def _site(environment: dict[str, str], folder: Path) -> Iterator[int]:
    """Run the site with a worker on a free port, yield the port, then stop all processes."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    words = [sys.executable, "manage.py", "serve", "--port", str(port), "--workers", "1"]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(  # noqa: S603
            words, cwd=ROOT, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        deadline = time.monotonic() + 120
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if server.poll() is not None or time.monotonic() > deadline:
                    raise OSError((folder / "log").read_text()[-2000:]) from None
                time.sleep(0.2)
        yield port
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        try:
            server.wait(timeout=30)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait(timeout=10)


def _walk(walker: Walker, options: argparse.Namespace) -> Iterator[Figures]:
    """Publish a map as a new owner would, with `walker` as the browser; yield each step's
    figures.
    """
    from dpgeo.datasets.models import Dataset, Upload
    from dpgeo.releases.models import Release

    began = time.monotonic()
    place = _place(options)
    at_file = walker.press(walker.get("/desk/new/"), place)
    _expect(at_file, "/upload/")
    check = walker.press(at_file, file=options.file)
    _expect(check, "/desk/uploads/")
    upload = Upload.objects.get()
    yield {
        "step": "place",
        **place,
        "given": bool(options.area or options.place),
        "square_kilometres": upload.dataset.area.ground_square_kilometres,
    }
    yield from _understood(upload, check)
    if check.main_form is None:
        yield {"step": "stopped", "why": "no row can be used as the file is understood"}
        return
    read = walker.press(check)
    upload.refresh_from_db()
    if upload.state == "received":
        yield {"step": "stopped", "why": " ".join(read.alerts)[:2000] or "the check asks again"}
        return
    _wait(upload, "ready", "failed")
    if upload.state != "ready":
        yield {"step": "stopped", "why": str(upload.failure)}
        return
    facts = upload.report or {}
    yield {"step": "rows", "read": facts.get("read"), "accepted": facts.get("accepted")}
    kind = walker.get(f"/desk/datasets/{Dataset.objects.get().slug}/map/")
    publish = walker.press(walker.press(kind), {"total": options.total})
    _expect(publish, "/publish/")
    walker.press(publish)
    release = Release.objects.get()
    _wait(release, "published")
    yield {
        "step": "way",
        "seconds": time.monotonic() - began,
        "pages": walker.pages,
        "decisions": len(walker.decisions),
        "decided": "; ".join(walker.decisions),
        "mechanism": release.mechanism,
        "epsilon": release.cost_words,
        "bound": release.bound,
        "counting": release.request.counting.value,
    }
    yield _opening(release)


def _expect(page: Page, part: str) -> None:
    if part not in page.address or page.status >= 400:
        raise ValueError(f"{page.address}, {page.status}: {page.alerts}")


def _wait(row: Any, *states: str) -> None:
    deadline = time.monotonic() + 3600
    while row.state not in states:
        if row.state == "failed" or time.monotonic() > deadline:
            raise ValueError(f"{row.state}: {row}")
        time.sleep(0.5)
        row.refresh_from_db()


def _place(options: argparse.Namespace) -> dict[str, str]:
    """Return the fields that the owner fills in on the first form."""
    if options.area:
        sides = options.area.split(",")
        return dict(zip(("west", "south", "east", "north"), sides, strict=True))
    return {"place": options.place or _nearest_city(options.file)}


def _nearest_city(file: Path) -> str:
    """Return the full name of the city nearest to the rows, which a real owner would know.

    A much larger city a little further away is preferred.
    """
    from dpgeo.datasets.names_on_maps import world_places

    cities = world_places().cities
    points = _some_points(file)
    if not len(points):
        raise ValueError("No position is understood; give --place or --area.")
    longitude, latitude = np.median(points, axis=0)
    shrink = np.cos(np.radians(latitude))

    def remoteness(name: str) -> float:
        """Return a city's score; the city with the lowest score is chosen.

        The score is the distance in degrees plus NEARBY_DEGREES, divided by the square root of the
        population.
        """
        city = cities[name]
        away = np.hypot((city.longitude - longitude) * shrink, city.latitude - latitude)
        return float((away + NEARBY_DEGREES) / np.sqrt(city.population + 1))

    return min(cities, key=remoteness)


def _some_points(file: Path) -> Any:
    from dpgeo.ingest.context import Context
    from dpgeo.ingest.preview import preview

    with tempfile.TemporaryDirectory() as folder:
        seen = preview(file, file.name, Context(), Path(folder))
    points = seen.understanding.points if seen.understanding else []
    return np.array(points).reshape(-1, 2)


def _understood(upload: Any, check: Page) -> Iterator[Figures]:
    """Yield a line for each column, with the role that dpgeo recognised, and one for the rows.

    The rows are a sample, which dpgeo reads to show the owner how it understands the file.
    """
    from dpgeo.datasets.previews import upload_understand

    understanding = upload_understand(upload=upload)
    if understanding is None:
        yield {"step": "stopped", "why": " ".join(check.alerts)[:2000]}
        return
    for column in understanding.understood[:SHOWN]:
        yield {"step": "column", "name": column.name, "role": column.role, "as": str(column.format)}
    yield {
        "step": "trial",
        "projection": str(understanding.projection),
        "rows": understanding.rows,
        "accepted_share": understanding.share,
        "verdict": understanding.verdict,
        "questions": "; ".join(str(each.text) for each in understanding.questions),
        "left_out": "; ".join(f"{each.rows} {each.reason}" for each in understanding.left_out),
    }


def _opening(release: Any) -> Figures:
    """Return figures on what the map shows first.

    If the layer that is shown first consists of boxes, the figures include the layer's error
    against the true counts.
    """
    from dpgeo.postprocess.layers import BoxLayer, layers
    from dpgeo.postprocess.opening import coloured as coloured_of
    from dpgeo.postprocess.opening import opening_view, per_square, visible_cells
    from dpgeo.releases.selectors import load_released

    released = load_released(release)
    shown = layers(released)
    opens = opening_view(shown)
    layer = next(each for each in shown if each.name == opens.layer)
    figures: Figures = {
        "step": "opening",
        "layer": layer.name,
        "unit_metres": opens.metres,
        "classes": " ".join(f"{edge:g}" for edge in opens.edges.get(layer.name, ())),
    }
    if not isinstance(layer, BoxLayer):
        return figures
    coloured = coloured_of(layer)
    values = per_square(layer, opens.metres)[coloured]
    weights = layer.cells[coloured].astype(float)
    edges = opens.edges[layer.name]
    in_class: Any = np.histogram(values, [*edges, np.inf], weights=weights)[0] if len(edges) else []
    side = layer.grid.ground_cell_metres * np.sqrt(visible_cells(layer)[coloured])
    true = _true_counts(release, layer)
    return figures | {
        "typical_cell_metres": float(np.median(side)) if coloured.any() else 0.0,
        "largest_cell_metres": float(side.max(initial=0)),
        "coloured_share": float(layer.cells[coloured].sum() / layer.cells.sum()),
        "class_shares": " ".join(f"{share:.2f}" for share in np.divide(in_class, weights.sum())),
        "total": float(layer.value.sum()),
        "true_total": float(true.sum()),
        "error": float(np.abs(layer.value - true).sum() / max(true.sum(), 1)),
        "error_coloured": float(
            np.abs(layer.value - true)[coloured].sum() / max(true[coloured].sum(), 1)
        ),
    }


def _true_counts(release: Any, layer: Any) -> Any:
    """Return the true number (n,) of people or rows in each box, without contribution bounding."""
    import pyarrow.parquet as pq

    from dpgeo.datasets.storage import private_storage
    from dpgeo.spatial.boxes import box_image

    with private_storage().open(release.upload.canonical_name) as file:
        rows = pq.read_table(file)
    cells = layer.grid.locate(rows["x"].to_numpy(), rows["y"].to_numpy())
    boxes = np.where(cells >= 0, box_image(layer.boxes, layer.grid.shape).ravel()[cells], -1)
    if release.request.counting == "people":
        # A person counts once in each cell, as in the release.
        person = rows["person_high"].to_numpy()
        pairs = np.unique(
            np.stack([person[boxes >= 0], cells[boxes >= 0].astype(np.uint64)]), axis=1
        )
        boxes = box_image(layer.boxes, layer.grid.shape).ravel()[pairs[1].astype(np.int64)]
    return np.bincount(boxes[boxes >= 0], minlength=len(layer)).astype(float)
