"""An organisation with access to the owners' pages, set up for tests through the real services."""

from __future__ import annotations

import io
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from django.test import Client

from dpgeo.accounts.models import Membership, Organisation, Role, User
from dpgeo.datasets.ingest_job import upload_ingest
from dpgeo.datasets.models import Dataset
from dpgeo.datasets.services import dataset_create
from dpgeo.datasets.uploads import upload_confirm, upload_receive
from dpgeo.ingest.schema import Columns
from dpgeo.releases.models import Release
from dpgeo.spatial.area import StudyArea
from tests.makers import request_release

PASSWORD = "secret-words"  # noqa: S105

HEAD = "device,lon,lat,seen\n"


def invented_rows(count: int = 40) -> str:
    """Return a CSV of fictional people, all within the declared box."""
    rows = [
        f"p{n % 8},{10.01 + n % 9 / 100},{50.01 + n % 7 / 100},2026-05-01T12:00:00Z"
        for n in range(count)
    ]
    return HEAD + "\n".join(rows) + "\n"


@dataclass
class Desk:
    """An organisation on the owners' pages, and the signed-in administrator's browser `client`."""

    organisation: Organisation
    user: User
    client: Client

    def page(self, address: str) -> str:
        """Return the text of a page; fail if the page does not exist."""
        answer = self.client.get(address)
        assert answer.status_code == 200, address
        return answer.content.decode()

    def signed_in(self, name: str, *, role: Role | None) -> Client:
        """Return a browser in which another new person is signed in."""
        user = User.objects.create_user(name, password=PASSWORD)
        if role:
            Membership.objects.create(organisation=self.organisation, user=user, role=role)
        client = Client()
        client.force_login(user)
        return client

    def confirmed(self, client: Client | None = None) -> Client:
        """Return a browser after its user has typed the password again; by default the
        administrator's.
        """
        client = client or self.client
        client.post("/desk/account/confirm/", {"password": PASSWORD})
        return client

    def declaration(self, **changes: str) -> dict[str, str]:
        """Return the form data of a person who declares a dataset."""
        typed = {
            "title": "Invented trips",
            "description": "Trips that nobody made.",
            "organisation": str(self.organisation.pk),
            "unit": "person",
            "west": "10",
            "south": "50",
            "east": "10.1",
            "north": "50.1",
            "outline": "",
            "budget": "2",
            "ledger": "",
            "licence": "CC BY 4.0",
            "attribution": "",
            "keep_raw": "yes",
            "time_zone": "Europe/Berlin",
        }
        return typed | changes

    def declare(self, *, ready: bool = False, **facts: Any) -> Dataset:
        """Declare a dataset and, if `ready`, give it an ingested file."""
        dataset = dataset_create(
            **{
                "organisation": self.organisation,
                "title": "Invented trips",
                "licence": "CC BY 4.0",
                "unit": "person",
                "study_area": StudyArea.from_bounds(10, 50, 10.1, 50.1).to_geojson(),
                "time_zone": "UTC",
                "budget": Fraction(2),
                "created_by": self.user,
                **facts,
            }
        )
        if ready:
            file = io.BytesIO(invented_rows().encode())
            upload = upload_receive(
                dataset=dataset, file=file, file_name="trips.csv", created_by=self.user
            )
            columns = Columns(longitude="lon", latitude="lat", person="device", time="seen")
            upload_confirm(upload=upload, columns=columns)
            assert upload_ingest(upload_id=upload.pk)
            dataset.refresh_from_db()
        return dataset

    def request(self, dataset: Dataset, **changes: Any) -> Release:
        """Request a release and return it before its job has run."""
        fields: dict[str, Any] = {
            "title": "A map",
            "mechanism": "uniform-grid",
            "parameters": {"cells": 8},
            "epsilon": "0.5",
            "bound": 3,
            "counting": "people",
            "totals": 0,
            "requested_by": self.user,
        }
        return request_release(dataset, **(fields | changes))


def make_desk(name: str = "Invented house", owner: str = "owner") -> Desk:
    """Make an organisation and sign in its administrator."""
    organisation = Organisation.objects.create(name=name, slug=name.lower().replace(" ", "-"))
    user = User.objects.create_user(owner, password=PASSWORD)
    Membership.objects.create(organisation=organisation, user=user, role=Role.ADMINISTRATOR)
    client = Client()
    client.force_login(user)
    return Desk(organisation, user, client)
