"""Data for the fuzzed server: at least one object of each kind in the API.

The dataset and the release used in the API's examples are included, so that the examples succeed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpgeo.artefacts.statement_schema import VERSION

MANY = Fraction(1000)
"""The largest total epsilon that a budget may have."""

SPARE = 3
"""Number of objects of each kind that requests may destroy, so that some are left for others."""

Names = dict[str, list[str]]

BOXES = (
    "10.05,50.02,10.15,50.08",
    "4.3,52,4.9,52.4",
    "4.5,52.1,4.6,52.2",
    "-180,-90,180,90",
    "4.5,52.1,4.5,52.2",
    "170,10,-170,20",
    "4.9,52,4.3,52.4",
    "4,91,5,92",
    "nan,52,5,53",
    "4,52,5",
    "1e9,0,1e10,1",
)

RANGES = (
    "bytes=0-9",
    "bytes=5-",
    "bytes=-7",
    "bytes=-0",
    "bytes=999999999-",
    "bytes=9-5",
    "bytes=0-1,5-6",
    "lines=1-2",
)


def make() -> dict[str, Any]:
    """Fill an empty installation; return headers with a key, and the names of the objects.

    The key has every scope.
    """
    from tests.web.api import COLUMNS, Program, program_of
    from tests.web.desk import make_desk
    from tests.web.example_city import STUDY_AREA
    from tests.web.test_series import declare

    desk = make_desk()
    headers = program_of(desk).headers
    program = Program({**headers, "Host": "localhost"})
    read = desk.declare(ready=True, slug="walks", study_area=STUDY_AREA, budget=MANY)
    bare = desk.declare(title="Bare trips", budget=MANY)
    names: Names = {"slug": [read.slug, bare.slug]}
    names |= _releases(desk)
    names["queued"] = [str(desk.request(read).pk) for _ in range(SPARE)]
    names["job"] = [str(release.job_id) for release in read.releases.all()]
    own, *ending = (str(declare(read, epsilon="1").pk) for _ in range(1 + SPARE))
    names |= {"own_series": [own], "to_end": ending}
    names |= _uploads(program, bare.slug)
    names |= _planned(program, bare.slug, names["published"][0])
    confirmed = program.upload(desk.declare(title="Confirmed trips").slug)
    program.ask("POST", f"{confirmed}/confirm", {"columns": COLUMNS}, 202)
    names["confirmed"] = [confirmed.rpartition("/")[2]]
    return {"headers": headers, "names": names}


def _releases(desk: Any) -> Names:
    """Make releases in every state, and return their ids by state or by the operation that needs
    them.

    There is a published release of every content type, one withdrawn and one rejected release,
    drafts, and further releases for requests that withdraw or reject them.
    """
    from dpgeo.artefacts.files import file_kind
    from dpgeo.artefacts.series_files import ARRAY, LONG
    from dpgeo.core.levels import make_level
    from tests.series_maps import install_series
    from tests.unit.artefacts.releases import examples, grid_release
    from tests.web.example_city import AREA, RELEASE_ID
    from tests.web.published import install, make_dataset

    points = make_level("ln 16", 200)
    dataset = make_dataset(desk.organisation, budget=MANY, points_budget=points)
    published = [
        install(dataset, grid_release(area=AREA), pk=RELEASE_ID),
        *(install(dataset, released) for released in examples()),
    ]
    ranked = [each.pk for each in published if each.mechanism == "places"]
    small = [install(dataset, grid_release(2), published=each < SPARE) for each in range(4 * SPARE)]
    files = {file.name for release in published for file in release.files.all()}
    return {
        "published": [release.pk for release in published],
        "ranked": [*ranked, published[0].pk],  # the last release does not rank places
        "to_withdraw": [release.pk for release in small[:SPARE]],
        "draft": [release.pk for release in small[SPARE : 2 * SPARE]],
        "to_reject": [release.pk for release in small[2 * SPARE :]],
        "rejected": [install(dataset, grid_release(2), rejected=True).pk],
        "withdrawn": [install(dataset, grid_release(2), withdrawn=True).pk],
        "file": ["cells.geojson", *sorted(files)],
        "layer": ["cells", *sorted({file_kind(name).layer for name in files} - {""})],
        "dataset": [dataset.slug],
        "series": [str(install_series(grid_release(area=AREA), 2).pk)],
        "series_file": [ARRAY, *LONG],
    }


def _uploads(program: Any, slug: str) -> Names:
    """Make uploads that are only registered and others that are complete; return their ids by the
    operation that needs them.
    """
    begun = [program.announce(slug, size=1000).rpartition("/")[2] for _ in range(2 * SPARE)]
    whole = [program.upload(slug).rpartition("/")[2] for _ in range(2 * SPARE)]
    return {
        "upload": [*begun[:SPARE], *whole[:SPARE]],
        "begun": begun[:SPARE],
        "whole": whole[:SPARE],
        "to_discard": [*begun[SPARE:], *whole[SPARE:]],
    }


def _planned(program: Any, slug: str, release: str) -> Names:
    """Add layers of zones to a dataset, and make campaigns, which plan tasks from a release.

    Returns the layers' names and the campaigns' ids, by the fuzzer's dictionary that gets them.
    """
    from tests.web.example_city import BODIES

    layers = [f"wards-{number}" for number in range(SPARE)]
    for name in layers:
        body = BODIES["layer_add"] | {"name": name, "layer": zones()}
        program.ask("POST", f"/api/v1/datasets/{slug}/layers", body, 201)
    campaign = BODIES["campaign_create"] | {"release": release}
    campaigns = [
        program.ask("POST", "/api/v1/campaigns", campaign, 201)["id"] for _ in range(2 * SPARE)
    ]
    return {
        "zones": layers,
        "campaign": campaigns[:SPARE],
        "to_delete": campaigns[SPARE:],
    }


def zones() -> dict[str, Any]:
    """Return a layer of zones within the study area of the owner's dataset."""
    corners = [[10.02, 50.02], [10.08, 50.02], [10.05, 50.08], [10.02, 50.02]]
    return {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "properties": {"code": "E05", "name": "Harbour"},
                "geometry": {"type": "Polygon", "coordinates": [corners]},
            }
        ],
    }


def dictionaries(names: Mapping[str, Sequence[str]], tile: Sequence[int]) -> dict[str, Any]:
    """Return the fuzzer's dictionaries, lists of values to try, by name.

    `tile` identifies a tile with content.
    """
    zoom, column, row = tile
    return {
        **names,
        "release": [
            *names["published"],
            *names["published"],
            *names["draft"],
            *names["withdrawn"],
            *names["rejected"],
            *names["queued"],
        ],
        "anything": [*names["slug"], *names["dataset"]],
        "box": BOXES,
        "range": RANGES,
        "offset": ["0", "500", "1000000000"],
        "length": ["500"],
        "metadata": ["filename dHJpcHMuY3N2"],
        "request": [f"request-{number}" for number in range(100)],
        # An idempotency key may be used again only for a file of the same length, so there are many
        # keys.
        "tus_request": [f"tus-{number}" for number in range(100)],
        "version": [VERSION],
        "collection": [
            f"{each}.{layer}" for each in names["published"] for layer in ("cells", "estimate")
        ],
        "feature": [0, 1, 2, 3],
        "zoom": [zoom],
        "column": [column],
        "row": [row],
    }


EVERYWHERE = {
    "path.release_id": "release",
    "path.slug": "slug",
    "path.upload_id": "upload",
    "path.job_id": "job",
    "path.campaign_id": "campaign",
    "path.series_id": "series",
    "path.version": "version",
    "path.layer": "layer",
    "path.name": "file",
    "path.z": "zoom",
    "path.x": "column",
    "path.y": "row",
    "query.bbox": "box",
    "query.dataset": "anything",
    "header.Range": "range",
    "header.Upload-Offset": "offset",
    "header.Upload-Length": "length",
    "header.Upload-Metadata": "metadata",
    "header.Idempotency-Key": "request",
    "body.release": "published",
    "body.dataset": "slug",
    "path.collectionId": "collection",
    "path.featureId": "feature",
}
"""For each parameter, the name of the dictionary that provides some of its values.

This holds for all operations, except where BY_OPERATION names another dictionary.
"""

BY_OPERATION = {
    "dataset": {"path.slug": "anything"},
    "release_publish": {"path.release_id": "draft"},
    "release_notes": {"path.release_id": "queued"},
    "release_reject": {"path.release_id": "to_reject"},
    "release_withdraw": {"path.release_id": "to_withdraw"},
    "release_cancel": {"path.release_id": "queued"},
    "release_retry": {"path.release_id": "to_withdraw"},
    "release_query_box": {"path.release_id": "published"},
    "release_query": {"path.release_id": "published"},
    "release_file": {"path.release_id": "published"},
    "release_top": {"path.release_id": "ranked"},
    "series": {"path.series_id": "own_series"},
    "series_complete": {"path.series_id": "own_series"},
    "series_end": {"path.series_id": "to_end"},
    "series_resume": {"path.series_id": "own_series"},
    "series_file": {"path.name": "series_file"},
    "tus_create": {"header.Idempotency-Key": "tus_request"},
    "tus_append": {"path.upload_id": "begun"},
    "tus_delete": {"path.upload_id": "to_discard"},
    "upload_preview": {"path.upload_id": "whole"},
    "upload_confirm": {"path.upload_id": "whole"},
    "upload_retry": {"path.upload_id": "confirmed"},
    "upload_discard": {"path.upload_id": "to_discard"},
    "layer_remove": {"path.name": "zones"},
    "campaign_delete": {"path.campaign_id": "to_delete"},
}
"""By operation and parameter, the dictionary to use instead of the one that EVERYWHERE names."""


def settings(words: Mapping[str, Sequence[Any]], *, mixed: bool = True) -> str:
    """Return the fuzzer's settings, with names of existing objects so that requests can succeed.

    If `mixed`, invented names are tried as well; otherwise only the first name of each kind is
    used.
    """
    lines = [f"[dictionaries.{name}]\nvalues = {list(each)!r}" for name, each in words.items()]
    lines += ["[parameters]", *_bound(EVERYWHERE, words, mixed)]
    for operation, bound in BY_OPERATION.items():
        lines += ["[[operations]]", f'include-operation-id = "{operation}"']
        lines += ["[operations.parameters]", *_bound(bound, words, mixed)]
    return "\n".join(lines) + "\n"


def _bound(bound: Mapping[str, str], words: Mapping[str, Sequence[Any]], mixed: bool) -> list[str]:
    known = {parameter: name for parameter, name in bound.items() if name in words}
    if not mixed:
        needed = {"path", "header"}
        return [
            f'"{parameter}" = {words[name][0]!r}'
            for parameter, name in known.items()
            if parameter.partition(".")[0] in needed and name != "range"
        ]
    return [
        f'"{parameter}" = {{ dictionary = "{name}", probability = {_share(parameter)} }}'
        for parameter, name in known.items()
    ]


def _share(parameter: str) -> float:
    """Return the share of a parameter's values from its dictionary; the others are invented."""
    return 0.6 if parameter.startswith(("query", "header")) else 0.9


def tile_at(longitude: float, latitude: float, zoom: int) -> tuple[int, int, int]:
    """Return the zoom, column and row of the tile that contains a place."""
    across = (longitude + 180) / 360
    down = (1 - math.asinh(math.tan(math.radians(latitude))) / math.pi) / 2
    return zoom, int(across * 2**zoom), int(down * 2**zoom)
