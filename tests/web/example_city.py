"""A fictional city that uses every API operation; the responses are the schema's examples."""

from __future__ import annotations

import json
import re
from typing import Any
from uuid import UUID

from django.test import Client
from django.utils import timezone

from dpgeo.accounts.models import Organisation
from dpgeo.accounts.services import key_create
from dpgeo.budgets.models import Ledger
from dpgeo.datasets.models import Upload, UploadState
from dpgeo.jobs.models import Job, JobState
from dpgeo.releases.models import Release, Series
from dpgeo.releases.notes import Note, checksum
from dpgeo.releases.services import release_run
from dpgeo.spatial.area import StudyArea
from tests.makers import make_dataset
from tests.unit.artefacts.releases import grid_release, places_release
from tests.web.api import EVERYTHING, Program
from tests.web.described import check
from tests.web.desk import invented_rows, make_desk
from tests.web.published import install

HOST = "https://maps.example.org"
RELEASE_ID = "q0tPZ2xvbmdzaGFkb3dzAA"
PLACES_ID = "cGxhY2VzX29mX3ZhbHVlcw"
CAMPAIGN_ID = "mJr2Zk8vQ1sYt0aPbXcDgA"
SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

STUDY_AREA: dict[str, Any] = {
    "type": "Polygon",
    "coordinates": [[[10.0, 50.0], [10.2, 50.0], [10.2, 50.1], [10.0, 50.1], [10.0, 50.0]]],
}

AREA = StudyArea.from_geojson(STUDY_AREA)

TRIANGLE = {
    "type": "Polygon",
    "coordinates": [[[10.05, 50.02], [10.15, 50.02], [10.1, 50.08], [10.05, 50.02]]],
}

WARDS = {
    "type": "FeatureCollection",
    "features": [
        {
            "type": "Feature",
            "properties": {"code": "E05", "name": "Harbour"},
            "geometry": TRIANGLE,
        }
    ],
}

CONTENT = (
    "\n".join(f"{row},2.0" for row in invented_rows().split())
    .replace("seen,2.0", "seen,app")
    .encode()
)

REQUEST = {
    "mechanism": "uniform-grid",
    "parameters": {"cells": 16},
    "epsilon": "0.5",
    "bound": 10,
    "counting": "people",
    "bounding": "random",
}

TASKS = [
    {"name": "Quay lamps", "longitude": 10.07, "latitude": 50.06},
    {"name": "Ring road sign", "longitude": 10.19, "latitude": 50.01, "reward": 9},
]

SETTINGS = {
    "target": 0.9,
    "total_reward": 40.0,
    "willingness": 50.0,
    "least_reward": 1.0,
    "travel_metres": 3000.0,
    "worker_share": 0.1,
}

NOTES: list[Note] = [{"text": "The harbour is fullest.", "longitude": 10.07, "latitude": 50.06}]

DECLARED = ("title", "description", "unit", "study_area", "time_zone", "licence")

BODIES: dict[str, Any] = {
    "dataset_create": {
        "title": "Walks",
        "description": "Walks of volunteers in an invented city.",
        "unit": "person",
        "study_area": STUDY_AREA,
        "time_zone": "Europe/Berlin",
        "public_attributes": [{"column": "app", "values": ["1.4", "2.0"]}],
        "licence": "CC BY 4.0",
        "budget": "2",
    },
    "dataset_update": {"description": "Walks of volunteers in spring."},
    "upload_confirm": {
        "columns": {"longitude": "lon", "latitude": "lat", "person": "device", "time": "seen"}
    },
    "layer_add": {
        "name": "wards",
        "title": "Wards of 2026",
        "layer": WARDS,
        "public_source": {
            "name": "Ward boundaries",
            "url": "https://example.org/wards",
            "date": "2026-01-31",
        },
    },
    "quote": {**REQUEST, "guess": {"people": 10000, "records": 20, "share": 0.0001}},
    "series_declare": {
        "title": "Walks of each week",
        "mechanism": "uniform-grid",
        "parameters": {"cells": 16},
        "period": "week",
        "first_day": "2026-01-05",
        "protection": "person",
        "each": 2,
        "most": 20,
        "epsilon": "0.25",
    },
    "series_complete": {"through": "2026-01-11"},
    "series_query": {"polygon": TRIANGLE},
    "release_request": {
        "dataset": "walks",
        "title": "Evening walks",
        **REQUEST,
        "publish_when_done": False,
    },
    "release_notes": {"notes": NOTES},
    "release_publish": {"notes_sha256": checksum(NOTES)},
    "release_reject": {"reason": "Too little stands out from the noise."},
    "release_query": {"polygon": TRIANGLE},
    "plan": {"release": RELEASE_ID, "tasks": TASKS, **SETTINGS},
    "plan_radius": {
        "release": RELEASE_ID,
        "reward": 4,
        **{name: value for name, value in SETTINGS.items() if name != "total_reward"},
        "lattice": 4,
        "values": True,
    },
    "campaign_create": {
        "name": "Lamps in March",
        "release": RELEASE_ID,
        "tasks": TASKS,
        "settings": SETTINGS,
        "shared": True,
    },
}
"""Request bodies by operation."""


class City:
    """The city's API client; it records responses with random values replaced by fixed ones."""

    def __init__(self) -> None:
        self.desk = make_desk("Example City")
        Organisation.objects.update(contact="maps@example.org")
        self.desk.organisation.refresh_from_db()
        _, secret = key_create(
            organisation=self.desk.organisation,
            name="program",
            scopes=EVERYTHING,
            created_by=self.desk.user,
        )
        self.program = Program({"Authorization": f"Bearer {secret}"})
        self.answers: dict[str, Any] = {}
        self._ids: dict[str, str] = {}
        self._uuids: dict[str, str] = {}

    def ask(
        self,
        name: str,
        method: str,
        address: str,
        status: int = 200,
        content: bytes | None = None,
        **headers: str,
    ) -> Any:
        """Send an operation's body from BODIES; check the response against the schema, and record
        the response.
        """
        answer = self.program.send(method, address, content or BODIES.get(name), **headers)
        assert answer.status_code == status, (name, getattr(answer, "content", b""))
        check(name, answer)
        return self._note(name, answer)

    def read(self, name: str, address: str) -> Any:
        """Request, check and record an operation that anybody may use."""
        answer = Client().get(address)
        assert answer.status_code == 200, (name, answer.content)
        if not name.startswith("ogc"):
            check(name, answer)
        return self._note(name, answer)

    def _note(self, name: str, answer: Any) -> Any:
        text = answer.getvalue().decode()
        self.answers[name] = self.steady(json.loads(text))
        return json.loads(text)

    def request(self) -> Release:
        """Request a release and return it before its job has run.

        The response is recorded as if this were the city's only release.
        """
        name = f"march-{Release.objects.count()}"
        response = self.ask(
            "release_request", "POST", "/api/v1/releases", 202, Idempotency_Key=name
        )
        again = self.ask("release_request", "POST", "/api/v1/releases", 200, Idempotency_Key=name)
        assert response == again
        release = Release.objects.get(job_id=response["id"])
        self.call(release.pk, RELEASE_ID)
        self.answers["release_request"] = self.steady(response)
        return release

    def call(self, actual_id: str, always: str) -> None:
        """Have the random `actual_id` replaced by the fixed id `always` in recorded responses."""
        self._ids[actual_id] = always

    def steady(self, value: Any) -> Any:
        """Return a copy of a document with everything that differs between runs replaced."""
        if isinstance(value, dict):
            steady = {key: self.steady(each) for key, each in value.items()}
            return _file(steady) if "sha256" in steady else steady
        if isinstance(value, list):
            return [self.steady(each) for each in value]
        if isinstance(value, float):
            return float(f"{value:.9g}")
        return self._text(value) if isinstance(value, str) else value

    def _text(self, text: str) -> str:
        text = text.replace("http://testserver", HOST)
        for actual_id, always in self._ids.items():
            text = text.replace(actual_id, always)
        text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", self._uuid, text)
        text = re.sub(r"\b[0-9a-f]{64}\b", SHA256, text)
        text = re.sub(r"(?<=cursor=)[\w-]+", "WyIyMDI2LTAzLTMxIl0", text)
        return re.sub(r"^20\d\d-\d\d-\d\d$", "2026-03-31", text)

    def _uuid(self, match: re.Match[str]) -> str:
        if match[0] in self._uuids.values():
            return match[0]
        numbered = UUID(int=(0x5D0C8F5A94A54C3E8F0E << 48) + len(self._uuids) + 1)
        return self._uuids.setdefault(match[0], str(numbered))


def _file(described: dict[str, Any]) -> dict[str, Any]:
    """Return a file's description with a fixed size, as sizes differ between library versions."""
    return {**described, "size": 51234} if "media_type" in described else described


def play() -> dict[str, Any]:
    """Return the JSON responses of all operations that have one, keyed by operation."""
    city = City()
    dataset = city.desk.declare(
        ready=True,
        at_console=True,
        slug="walks",
        **{name: BODIES["dataset_create"][name] for name in DECLARED},
    )
    published = install(dataset, grid_release(16, area=AREA), pk=RELEASE_ID)
    # Mark the upload as failed, as the job that reads a file without rows would.
    Upload.objects.filter(pk=published.upload_id).update(state=UploadState.FAILED)
    _public(city)
    _declare(city)
    _plan(city)
    _request(city)
    install(make_dataset(), places_release(area=AREA), pk=PLACES_ID)
    city.read("release_top", f"/api/v1/releases/{PLACES_ID}/top?k=3")
    return city.answers


def _public(city: City) -> None:
    """Call the operations that anybody may use."""
    release = f"/api/v1/releases/{RELEASE_ID}"
    city.read("releases", "/api/v1/releases")
    city.read("release", release)
    city.read("tilejson", f"{release}/tiles/cells.json")
    city.read("datasets", "/api/v1/datasets")
    city.read("dataset", "/api/v1/datasets/walks")
    city.read("mechanism", "/api/v1/mechanisms/uniform-grid")
    city.read("mechanisms", "/api/v1/mechanisms")
    city.read("catalogue", "/api/v1/catalogue")
    city.read("ogc_collections", "/ogc/collections")
    city.read("ogc_collection", f"/ogc/collections/{RELEASE_ID}.cells")
    city.read("ogc_landing", "/ogc/")
    city.read("ogc_item", f"/ogc/collections/{RELEASE_ID}.cells/items/0")
    city.ask("release_query", "POST", f"{release}/query")


def _declare(city: City) -> None:
    """Declare a dataset, upload and read its file, and add and remove a layer."""
    dataset = city.ask("dataset_create", "POST", "/api/v1/datasets", 201)
    address = f"/api/v1/datasets/{dataset['slug']}"
    city.call(dataset["slug"], "walks")
    city.answers["dataset_create"] = city.steady(dataset)
    city.ask("dataset_update", "PATCH", address)
    upload = city.program.upload(dataset["slug"], CONTENT, "walks.csv")
    city.ask("upload", "GET", upload)
    city.ask("uploads", "GET", f"{address}/uploads")
    city.ask("upload_preview", "GET", f"{upload}/preview")
    city.ask("upload_confirm", "POST", f"{upload}/confirm", 202)
    city.ask("upload_retry", "POST", f"{upload}/retry", 202)
    layer = city.ask("layer_add", "POST", f"{address}/layers", 201)["url"]
    city.ask("layers", "GET", f"{address}/layers")
    city.ask("layer_remove", "DELETE", layer)


def _plan(city: City) -> None:
    """Plan tasks on the published map, and save them."""
    city.ask("plan", "POST", "/api/v1/plan")
    city.ask("plan_radius", "POST", "/api/v1/plan/radius")
    campaign = city.ask("campaign_create", "POST", "/api/v1/campaigns", 201)
    city.call(campaign["id"], CAMPAIGN_ID)
    city.answers["campaign_create"] = city.steady(campaign)
    city.ask("campaigns", "GET", "/api/v1/campaigns")
    city.ask("campaign", "GET", campaign["url"])
    city.ask("campaign_delete", "DELETE", campaign["url"])


def _request(city: City) -> None:
    """Request releases, run their jobs, and publish, reject or withdraw them."""
    city.ask("quote", "POST", "/api/v1/datasets/walks/quote")
    drawn = city.request()
    release_run(release_id=drawn.pk)
    city.ask("job", "GET", f"/api/v1/jobs/{drawn.job_id}")
    city.ask("release_retry", "POST", f"/api/v1/releases/{drawn.pk}/retry")
    city.ask("release_notes", "PUT", f"/api/v1/releases/{drawn.pk}/notes")
    city.ask("release_publish", "POST", f"/api/v1/releases/{drawn.pk}/publish")
    city.ask("release_withdraw", "POST", f"/api/v1/releases/{drawn.pk}/withdraw")
    noisy = city.request()
    release_run(release_id=noisy.pk)
    city.ask("release_reject", "POST", f"/api/v1/releases/{noisy.pk}/reject")
    city.ask("release_cancel", "POST", f"/api/v1/releases/{city.request().pk}/cancel")
    city.ask("budgets", "GET", "/api/v1/budgets")
    _declare_series(city)


def _declare_series(city: City) -> None:
    """Declare a series, declare its first week complete, query its map, resume and end it."""
    # The releases above have spent the budget, so the total is raised.
    Ledger.objects.update(total_units=2_250_000)
    address = "/api/v1/datasets/walks/series"
    series = city.ask("series_declare", "POST", address, 201)["url"]
    city.ask("series_complete", "POST", f"{series}/complete")
    city.ask("series", "GET", series)
    city.ask("series_list", "GET", address)
    mapped = Series.objects.get(pk=series.rpartition("/")[2])
    days = {"from_day": mapped.window(1).first, "to_day": mapped.window(1).last}
    release = Release.objects.get(pk=RELEASE_ID)
    asked = release.request.model_copy(update=days)
    Release.objects.filter(pk=RELEASE_ID).update(series=mapped, number=1, request=asked)
    city.ask("series_query", "POST", f"{series}/query")
    Release.objects.filter(pk=RELEASE_ID).update(series=None, number=None)
    _fail(mapped)
    city.ask("series_resume", "POST", f"{series}/resume")
    city.ask("series_end", "POST", f"{series}/end")


def _fail(series: Series) -> None:
    """Make it look as if a series' first map had failed: give the series a cancelled release."""
    lost = Release.objects.filter(job__state=JobState.CANCELLED)[0]
    Job.objects.filter(pk=lost.job_id).update(state=JobState.FAILED)
    Release.objects.filter(pk=lost.pk).update(series=series, number=1)
    Series.objects.filter(pk=series.pk).update(ended_at=timezone.now(), ending="failed")
