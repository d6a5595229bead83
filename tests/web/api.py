"""An API client with a key, for tests."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpResponseBase
from django.test import Client

from dpgeo.accounts.models import Organisation, Scope, User
from dpgeo.accounts.services import key_create
from tests.tus import announcement, piece_at
from tests.web.desk import HEAD, Desk, invented_rows

EVERYTHING = tuple(Scope.values)

AREA = {
    "type": "Polygon",
    "coordinates": [[[10.0, 50.0], [10.1, 50.0], [10.1, 50.1], [10.0, 50.1], [10.0, 50.0]]],
}

DECLARATION = {
    "title": "Invented trips",
    "unit": "person",
    "study_area": AREA,
    "licence": "CC BY 4.0",
    "budget": "2",
}

COLUMNS = {"longitude": "lon", "latitude": "lat", "person": "device", "time": "seen"}

REQUEST = {
    "mechanism": "uniform-grid",
    "parameters": {"cells": 8},
    "epsilon": "0.5",
    "bound": 3,
}

CONTENT = invented_rows().encode()

assert CONTENT.startswith(HEAD.encode())


@dataclass
class Program:
    """A client that sends JSON; `headers` contain the key."""

    headers: dict[str, str] = field(default_factory=dict)
    client: Client = field(default_factory=Client)

    def ask(
        self, method: str, address: str, body: Any = None, status: int = 200, **headers: str
    ) -> Any:
        """Send a request, check the response's status and return its JSON.

        A `body` of bytes is sent unchanged, anything else as JSON.
        """
        answer = self.send(method, address, body, **headers)
        content = getattr(answer, "content", b"")
        assert answer.status_code == status, (method, address, answer.status_code, content)
        if status >= 400:
            assert answer["Content-Type"] == "application/problem+json"
        return json.loads(content) if content else None

    def send(self, method: str, address: str, body: Any = None, **headers: str) -> HttpResponseBase:
        """Send a request and return the response with any status."""
        data, media_type = body, "application/octet-stream"
        if body is None:
            data, media_type = b"", ""
        elif not isinstance(body, bytes):
            data, media_type = json.dumps(body).encode(), "application/json"
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        media_type = named.pop("Content-Type", media_type)
        answer: HttpResponseBase = self.client.generic(
            method, address, data, content_type=media_type, headers={**self.headers, **named}
        )
        return answer

    def announce(
        self, slug: str, name: str = "trips.csv", size: int = len(CONTENT), key: str = ""
    ) -> str:
        """Announce a file by tus, with an idempotency key or none; return the upload's URL."""
        address = f"/api/v1/datasets/{slug}/uploads/tus"
        named = announcement(name, size) | ({"Idempotency_Key": key} if key else {})
        answer = self.send("POST", address, **named)
        assert answer.status_code == 201, getattr(answer, "content", b"")
        return str(answer["Location"]).removesuffix("/tus")

    def append(self, upload: str, content: bytes, offset: int | str = 0, status: int = 204) -> Any:
        """Send a piece of a file by tus; return the JSON of an error."""
        return self.ask("PATCH", f"{upload}/tus", content, status, **piece_at(offset))

    def upload(self, slug: str, content: bytes = CONTENT, name: str = "trips.csv") -> str:
        """Send a file in one request, and return the URL of the upload."""
        upload = self.announce(slug, name, len(content))
        self.append(upload, content)
        return upload


def program(
    organisation: Organisation, user: User, scopes: Collection[str] = EVERYTHING
) -> Program:
    """Return an API client with a new key of `user`, which has all scopes unless some are given."""
    _, secret = key_create(
        organisation=organisation, name="program", scopes=scopes, created_by=user
    )
    return Program({"Authorization": f"Bearer {secret}"})


def program_of(desk: Desk, *scopes: str) -> Program:
    """Return an API client of the desk's organisation, with all scopes unless some are given."""
    return program(desk.organisation, desk.user, scopes or EVERYTHING)
