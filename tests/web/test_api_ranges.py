"""Range answers by API: counts in boxes and polygons of published releases."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from django.test import Client

from dpgeo.api import heavy_work
from dpgeo.api import ranges as module
from dpgeo.api.problems import Refused
from tests.unit.artefacts.releases import (
    flows_release,
    slices_release,
    zone_averages_release,
)
from tests.web.api import Program
from tests.web.published import install, make_dataset

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

WHOLE = [4.0, 51.9, 5.0, 52.5]


def square(west: float, south: float, side: float = 0.1) -> dict[str, Any]:
    east, north = west + side, south + side
    ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
    return {"type": "Polygon", "coordinates": [ring]}


def query(**changes: Any) -> str:
    return f"/api/v1/releases/{install(make_dataset(), **changes).pk}/query"


def test_trips_between_two_boxes_are_asked_for_by_from_and_to() -> None:
    address, program = query(released=flows_release()), Program()
    north, south = "4,52.2,5,53", "4,52,5,52.1"
    (there,) = program.ask("GET", f"{address}?from={north}&to={south}")["results"]
    # The noisy numbers of trips from the northern to the southern zone are -7 before noon, 4 after.
    assert (there["estimate"], there["areas"], there["exact"]) == (-3, 2, True)
    (morning,) = program.ask("GET", f"{address}?from={north}&to={south}&layer=flows-00-12")[
        "results"
    ]
    assert (morning["estimate"], morning["areas"]) == (-7, 1)
    (leaving,) = program.ask("GET", f"{address}?from={north}")["results"]
    (arriving,) = program.ask("GET", f"{address}?to={south}")["results"]
    assert (leaving["estimate"], arriving["estimate"]) == (399 + 50, 9 - 31)
    boxes = {"from": [4, 52.2, 5, 53], "to": [4, 52, 5, 52.1]}
    assert program.ask("POST", address, boxes)["results"] == [there]
    outlines = {"from": square(4, 52.2, 1), "to": square(4, 51.1, 1)}
    (drawn,) = program.ask("POST", address, outlines | {"layer": "flows-00-12"})["results"]
    assert (drawn["estimate"], drawn["areas"], drawn["counted"]) == (-7, 1, "people")
    (cut,) = program.ask("POST", address, outlines | {"from": square(4.5, 52.2, 1)})["results"]
    assert (cut["exact"], cut["cut"]) == (False, 2)
    assert program.ask("POST", address, {"to": boxes["to"]})["results"] == [arriving]
    program.ask("POST", address, boxes | {"bbox": WHOLE}, status=400)
    problem = program.ask("POST", address, {"from": {"type": "Point"}}, status=400)
    assert problem["field"] == "from"
    program.ask("POST", query(), boxes, status=409)
    program.ask("GET", f"{address}?from={north}&bbox={south}", status=400)
    program.ask("GET", f"{address}?from=4,52,4,53", status=400)
    program.ask("GET", f"{query()}?from={north}&to={south}", status=409)


def test_a_time_slice_is_chosen_by_its_name() -> None:
    address, program = query(released=slices_release()), Program()
    everything, night, day = (
        program.ask("POST", address, {"bbox": WHOLE, **layer})["results"][0]
        for layer in ({}, {"layer": "cells-00-12"}, {"layer": "cells-12-24"})
    )
    assert night["estimate"] + day["estimate"] == everything["estimate"]
    assert night["areas"] + day["areas"] == everything["areas"]
    box = ",".join(map(str, WHOLE))
    by_get = program.ask("GET", f"{address}?bbox={box}&layer=cells-00-12")
    assert by_get["results"] == [night]


def test_a_release_of_averages_answers_with_a_mean_and_its_interval() -> None:
    address, program = query(released=zone_averages_release()), Program()
    (single,) = program.ask("POST", address, {"bbox": [4.3, 52.16, 4.8, 52.35]})["results"]
    average = single["average"]
    assert (average["title"], average["unit"]) == ("Speed, as driven", "km/h")
    assert average["low"] < average["mean"] < average["high"]
    assert average["mean"] == pytest.approx(50 * 5 / 12)
    assert single["low"] < single["estimate"] < single["high"]
    (few,) = program.ask("POST", address, {"bbox": [4.3, 52.0, 4.9, 52.09]})["results"]
    assert [few["average"][name] for name in ("mean", "low", "high")] == [None] * 3
    assert any("too few records" in note for note in few["notes"])
    (outside,) = program.ask("POST", address, {"bbox": [1, 1, 2, 2]})["results"]
    assert outside["average"] is None
    assert program.ask("POST", query(), {"bbox": WHOLE})["results"][0]["average"] is None


def test_polygons_and_collections_are_answered_in_order() -> None:
    address, program = query(), Program()
    (one,) = program.ask("POST", address, {"polygon": square(4.5, 52.1)})["results"]
    assert (one["id"], one["exact"]) == (None, False)
    features = [
        {"type": "Feature", "id": name, "properties": {}, "geometry": square(4.5 + step, 52.1)}
        for name, step in (("a", 0), (7, 0.05), (None, 40))
    ]
    document = program.ask(
        "POST", address, {"regions": {"type": "FeatureCollection", "features": features}}
    )["results"]
    assert [each["id"] for each in document] == ["a", 7, None]
    assert document[0] | {"id": None} == one
    figures = [document[2][name] for name in ("estimate", "margin", "low", "high", "people_high")]
    assert figures == [None] * 5
    assert (document[2]["reason"], document[2]["exact"]) == ("outside", False)
    assert "outside the study area" in document[2]["notes"][0]
    assert (document[0]["counted"], document[0]["reason"]) == ("sightings", None)
    assert document[0]["people_low"] <= document[0]["people_high"]


def test_a_thousand_regions_are_answered_and_one_more_is_not() -> None:
    address, program = query(), Program()
    feature = {
        "type": "Feature",
        "properties": {"words": "x" * 1000},
        "geometry": square(4.5, 52.1),
    }
    many = {"type": "FeatureCollection", "features": [feature] * 1_000}
    assert len(json.dumps({"regions": many})) > 1_000_000
    assert len(program.ask("POST", address, {"regions": many})["results"]) == 1_000
    many["features"] = [feature] * 1_001
    refusal = program.ask("POST", address, {"regions": many}, 400)
    assert "1,001 features" in refusal["detail"]


BOWTIE = {"type": "Polygon", "coordinates": [[[4, 52], [5, 53], [5, 52], [4, 53], [4, 52]]]}
ACROSS = square(179.95, 52.1)


@pytest.mark.parametrize(
    ("body", "field", "words"),
    [
        ({}, "bbox", "Give one of"),
        ({"bbox": WHOLE, "polygon": square(4, 52)}, "polygon", "Give one of"),
        ({"bbox": [1, 2, 3]}, "bbox", "four numbers"),
        ({"bbox": [5, 52, 4, 53]}, "bbox", "antimeridian"),
        ({"bbox": [4, 52, 4, 53]}, "bbox", "no area"),
        ({"bbox": [4, 52, 5, 91]}, "bbox", "latitudes"),
        ({"polygon": {"type": "Point", "coordinates": [4, 52]}}, "polygon", "Polygon or Multi"),
        ({"polygon": {"type": "Polygon"}}, "polygon", "closed rings"),
        ({"polygon": BOWTIE}, "polygon", "Is not a valid polygon"),
        ({"polygon": ACROSS}, "polygon", "antimeridian"),
        ({"regions": {"type": "Feature"}}, "regions", "FeatureCollection"),
        ({"regions": {"type": "FeatureCollection", "features": [1]}}, "regions", "Member 0"),
        (
            {
                "regions": {
                    "type": "FeatureCollection",
                    "features": [{"type": "Feature", "geometry": BOWTIE}],
                }
            },
            "regions.features[0]",
            "Is not a valid polygon",
        ),
        ({"box": WHOLE}, "box", "There is no field"),
    ],
)
def test_an_invalid_region_is_refused_with_a_remedy(
    body: dict[str, Any], field: str, words: str
) -> None:
    refusal = Program().ask("POST", query(), body, 400)
    assert refusal["field"] == field
    assert words in refusal["detail"]


def test_drafts_answer_members_and_ended_releases_nobody(client: Client) -> None:
    program = Program()
    program.ask("POST", query(published=False), {"bbox": WHOLE}, 404)
    program.ask("POST", query(withdrawn=True), {"bbox": WHOLE}, 410)
    program.ask("POST", query(rejected=True), {"bbox": WHOLE}, 410)
    program.ask("GET", "/api/v1/releases/none/query?bbox=1,2,3,4", None, 404)


def test_a_polygon_of_too_many_corners_is_refused_before_it_is_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A polygon with too many vertices is refused before its validity is checked.

    Checking the validity of a polygon with 100,000 vertices would take a minute.
    """
    ring = [[4 + n / 1e6, 52 + n % 2 / 10] for n in range(module.MAX_CORNERS)]
    polygon = {"type": "Polygon", "coordinates": [[*ring, ring[0]]]}
    problem = Program().ask("POST", query(), {"polygon": polygon}, 400)
    assert "Simplify it" in problem["detail"]


def test_expensive_requests_wait_their_turn_and_readers_do_not() -> None:
    address = query() + "?bbox=4,52,5,53"
    client = Client()
    with heavy_work.turn(), heavy_work.turn():
        answer = client.get(address)
        assert client.get("/").status_code == 200
    assert answer.status_code == 503
    assert answer["Retry-After"] == "2"
    assert answer.json()["type"] == "/api/docs#busy"
    assert client.get(address).status_code == 200


def test_only_one_expensive_request_waits_for_its_turn() -> None:
    turns = [heavy_work.turn() for _ in range(heavy_work.AT_A_TIME)]
    for each in turns:
        each.__enter__()
    heavy_work._admitted.acquire()  # another request already waits to do expensive work
    began = time.monotonic()
    with pytest.raises(Refused, match="again"), heavy_work.turn():
        pass
    assert time.monotonic() - began < heavy_work.MAX_WAIT_SECONDS / 2
    heavy_work._admitted.release()
    for each in turns:
        each.__exit__(None, None, None)
