"""Processor time of the most expensive requests that anybody may send, by kind.

The benchmark sets up an installation with a heatmap of 1024 x 1024 cells, a quadtree over as many
cells, a thousand zones with almost 500 vertices each (as many as are allowed), flows between a
thousand squares, quartiles of 16,384 cells, and many small releases. It calls the views in this
process, without a web server. `first_seconds` is the time of a request while nothing is cached.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.report import report

LIMIT = 0.5
"""Limit on a request's processor time, in seconds."""

CELLS = 1024

WEST, SOUTH, EAST, NORTH = 4.3, 52.0, 4.6, 52.2


def add_to(subcommands: Any) -> None:
    """Add the subcommand `costs` to the command line."""
    parser = subcommands.add_parser("costs", help=__doc__)
    parser.add_argument("--cells", type=int, default=CELLS, help="along a side of the large maps")
    parser.add_argument("--releases", type=int, default=1000)
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.set_defaults(run=measure)


def measure(options: argparse.Namespace) -> None:
    """Print a line of times for each request."""
    with tempfile.TemporaryDirectory(prefix="dpgeo-costs-") as folder:
        os.environ |= {
            "DPGEO_VAR": folder,
            "DJANGO_SETTINGS_MODULE": "dpgeo.config.settings",
            "DPGEO_REQUESTS_A_MINUTE": "0",
            "DPGEO_TASKS_A_MINUTE": "0",
            "DPGEO_HOSTS": "testserver",
            "DPGEO_ORIGIN": "http://testserver",
        }
        os.environ.pop("DATABASE_URL", None)
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", verbosity=0)
        from benchmarks.costs_data import fill

        for line in _measured(fill(options.cells, options.releases)):
            report({**line, "limit": LIMIT}, options.json)


def _measured(names: dict[str, str]) -> Iterator[dict[str, Any]]:
    from django.test import Client

    client = Client()
    for what, method, address, body in requests(names):
        send = functools.partial(
            client.generic, method, address, body, content_type="application/json"
        )
        _forget()
        first, status, size = _timed(send)
        again, status, size = min(_timed(send) for _ in range(2))
        yield {
            "what": what,
            "first_seconds": first,
            "again_seconds": again,
            "status": status,
            "kilobytes": size // 1024,
        }


def _timed(send: Callable[[], Any]) -> tuple[float, int, int]:
    began = time.process_time()
    answer = send()
    body = answer.getvalue() if answer.streaming else answer.content
    return time.process_time() - began, answer.status_code, len(body)


def _forget() -> None:
    """Clear the in-memory caches of the views."""
    from dpgeo.api import ranges
    from dpgeo.crowdsourcing import radius_maps, selectors

    for cached in (ranges.drawn_release, ranges._ranges, selectors._ground):
        cached.cache_clear()
    radius_maps._radius_map.cache_clear()


def requests(names: dict[str, str]) -> Iterator[tuple[str, str, str, str]]:
    """Yield the name, method, URL and body of each request."""
    yield from _queries(names)
    yield from _plans(names["grid"])
    items = f"/ogc/collections/{names['grid']}.cells/items"
    middle = "4.44,52.09,4.46,52.11"
    for what, address in (
        ("10,000 features", f"{items}?limit=10000"),
        ("10,000 features, far down", f"{items}?limit=10000&start=900000"),
        ("10,000 features as HTML", f"{items}?limit=10000&f=html"),
        ("10,000 features of a box", f"{items}?limit=10000&bbox={WEST},{SOUTH},{EAST},{NORTH}"),
        ("features of a small box", f"{items}?limit=10000&bbox={middle}"),
        ("a box without features", f"{items}?bbox=5,53,6,54"),
        ("one feature", f"{items}/500000"),
        ("as many collections as fit a page", "/ogc/collections?limit=500"),
        ("the same as HTML", "/ogc/collections?limit=500&f=html"),
        ("a vector tile", f"/api/v1/releases/{names['grid']}/tiles/cells/13/4197/2702.pbf"),
        ("a vector tile of zones", f"/api/v1/releases/{names['zones']}/tiles/zones/9/262/168.pbf"),
        ("10,000 zones", f"/ogc/collections/{names['zones']}.zones/items?limit=10000"),
        ("a TileJSON", f"/api/v1/releases/{names['grid']}/tiles/cells.json"),
        ("100 releases of a box", "/api/v1/releases?limit=100&bbox=4,52,5,53"),
        ("100 datasets", "/api/v1/datasets?limit=100"),
        ("the catalogue (DCAT)", "/api/v1/catalogue"),
        ("the catalogue's page", "/"),
        ("a map's page", f"/maps/{names['grid']}/"),
        ("a page of a map of zones", f"/maps/{names['zones']}/"),
        ("the API's schema", "/api/schema"),
    ):
        yield what, "GET", address, ""


def _queries(names: dict[str, str]) -> Iterator[tuple[str, str, str, str]]:
    random = np.random.default_rng(1)

    def post(what: str, kind: str, **body: Any) -> tuple[str, str, str, str]:
        return what, "POST", f"/api/v1/releases/{names[kind]}/query", json.dumps(body)

    for kind in ("grid", "quadtree", "zones", "quartiles"):
        yield post(f"a polygon of 1,000 corners on the {kind}", kind, polygon=star(random, 1000))
        yield post(f"a polygon of 4,900 corners on the {kind}", kind, polygon=star(random, 4_900))
        yield post(f"stripes of 200 corners on the {kind}", kind, polygon=stripes(50))
        yield post(f"slanting stripes on the {kind}", kind, polygon=stripes(990, slant=0.5))
        for number, side in ((1000, 0.01), (1000, 0.02), (1000, 0.19), (2000, 0.002)):
            boxes = [_box(x, y, side) for x, y in random.uniform(0, 1, (number, 2)).tolist()]
            features = [{"type": "Feature", "geometry": box} for box in boxes]
            regions = {"type": "FeatureCollection", "features": features}
            yield post(f"{number:,} boxes of {side} degrees on the {kind}", kind, regions=regions)
    everywhere = _box(0, 0, 0.19)
    whole = {"from": everywhere, "to": everywhere}
    yield post("flows between two boxes over most squares", "flows", **whole)
    for corners in (100, 300):
        ends = {"from": star(random, corners), "to": star(random, corners)}
        yield post(f"flows between two polygons of {corners} corners", "flows", **ends)
    yield post("a polygon of 100,000 corners on the grid", "grid", polygon=star(random, 100_000))


def _plans(release: str) -> Iterator[tuple[str, str, str, str]]:
    random = np.random.default_rng(2)

    def post(what: str, number: int, **more: Any) -> tuple[str, str, str, str]:
        longitude, latitude = (
            random.uniform(WEST, EAST, number),
            random.uniform(SOUTH, NORTH, number),
        )
        tasks = [
            {"longitude": x, "latitude": y}
            for x, y in zip(longitude.tolist(), latitude.tolist(), strict=True)
        ]
        body = {"release": release, "tasks": tasks, "total_reward": 50.0 * number, **more}
        return what, "POST", "/api/v1/plan", json.dumps(body)

    yield post("3,000 tasks", 3_000)
    yield post("1,000 tasks", 1_000)
    far = {"travel_metres": 200_000, "willingness": 1e6}
    yield post("1,000 tasks over 200 km", 1_000, **far)
    radius: dict[str, Any] = {"release": release, "reward": 50.0, "lattice": 48}
    for what, more in (
        ("a radius map of 48 x 48 points", {"values": True}),
        ("the same over 200 km", far),
    ):
        yield what, "POST", "/api/v1/plan/radius", json.dumps({**radius, **more})


def star(random: np.random.Generator, corners: int) -> dict[str, Any]:
    """Return a star-shaped polygon with spikes that reach across the map."""
    angle = np.sort(random.uniform(0, 2 * np.pi, corners - 1))
    reach = random.uniform(0.05, 1, corners - 1)
    x = (WEST + EAST) / 2 + (EAST - WEST) / 2 * reach * np.cos(angle)
    y = (SOUTH + NORTH) / 2 + (NORTH - SOUTH) / 2 * reach * np.sin(angle)
    ring = np.column_stack([x, y]).tolist()
    return {"type": "Polygon", "coordinates": [[*ring, ring[0]]]}


def stripes(number: int, slant: float = 0.0) -> dict[str, Any]:
    """Return a multipolygon of stripes that cross the whole map.

    The larger `slant` is, the more they rise from west to east; 0 is horizontal.
    """
    step = (NORTH - SOUTH) / (number + 1) / (1 + slant)
    rise = slant * (NORTH - SOUTH) / (1 + slant)
    parts = []
    for index in range(number):
        low = SOUTH + index * step
        high = low + step / 2
        ring = [[WEST, low], [EAST, low + rise], [EAST, high + rise], [WEST, high], [WEST, low]]
        parts.append([ring])
    return {"type": "MultiPolygon", "coordinates": parts}


def _box(across: float, along: float, side: float) -> dict[str, Any]:
    west, south = WEST + across * (EAST - WEST - side), SOUTH + along * (NORTH - SOUTH - side)
    east, north = west + side, south + side
    ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
    return {"type": "Polygon", "coordinates": [ring]}
