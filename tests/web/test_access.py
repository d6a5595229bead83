"""Whoever asks, and by whatever door: what of a release is answered in each of its states."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
from django.test import Client

from dpgeo.accounts.models import ApiKey, Role, Scope
from dpgeo.accounts.services import key_revoke
from dpgeo.core.attributes import Attribute
from dpgeo.core.levels import make_level
from dpgeo.core.released import PointsRelease, Released
from dpgeo.releases.models import Release, ReleaseState
from dpgeo.releases.services import publish, release_reject, release_withdraw
from tests.unit.artefacts.releases import points_release, slices_release
from tests.web.api import program
from tests.web.published import REASON, install, make_dataset, make_member, make_organisation
from tests.web.test_api_files import INSIDERS, VISITORS, visitor

pytestmark = pytest.mark.django_db

KEYS: dict[str, tuple[str, list[str]]] = {
    "drafts key": ("example-city", [Scope.RELEASES_REQUEST]),
    "budgets key": ("example-city", [Scope.BUDGETS_READ]),
    "other's key": ("other-town", list(Scope.values)),
    "revoked key": ("example-city", list(Scope.values)),
}
"""What programs come with: the organisation and the scopes."""

SEEING = {*INSIDERS, "drafts key"}
"""Who may look at a draft of the publisher's."""

BOX = "4.3,52,4.9,52.4"


def comer(who: str) -> Client:
    """Somebody's browser, or a program with a key."""
    if who not in KEYS:
        return visitor(who)
    slug, scopes = KEYS[who]
    organisation = make_organisation(slug)
    maker = make_member(organisation, who, Role.ADMINISTRATOR)
    client = Client(headers=program(organisation, maker, scopes).headers)
    if who == "revoked key":
        key_revoke(key=ApiKey.objects.get(created_by=maker), by=maker)
    return client


def told_of_people() -> Released:
    """Moved points beside which it is told with what app each was reported."""
    released = points_release()
    assert isinstance(released.content, PointsRelease)
    told = dataclasses.replace(
        released.content,
        attributes=(Attribute("app", ("walker", "rider")),),
        combination=np.arange(5, dtype=np.int32) % 2,
    )
    return dataclasses.replace(released, content=told)


MAKES = {"slices": slices_release, "points": told_of_people}

LAYERS = {"slices": ["cells-00-12", "cells-12-24"], "points": ["points", "density"]}


def draft(kind: str) -> Release:
    """A release that nobody has decided about."""
    dataset = make_dataset(
        points_budget=make_level("ln 16", 200),
        public_attributes=[{"column": "app", "values": ["walker", "rider"]}],
    )
    return install(dataset, MAKES[kind](), published=False)


def parts(release: Release, kind: str, names: list[str]) -> list[tuple[str, Any]]:
    """Where the API serves what was drawn, with what is posted there."""
    base = f"/api/v1/releases/{release.pk}"
    asked: list[tuple[str, Any]] = [(f"{base}/files/{name}", None) for name in names]
    for layer in LAYERS[kind]:
        asked.append((f"{base}/tiles/{layer}.json", None))
        if kind == "slices":
            asked.append((f"{base}/query?bbox={BOX}&layer={layer}", None))
            asked.append((f"{base}/query", {"bbox": json.loads(f"[{BOX}]"), "layer": layer}))
    return asked


def status(client: Client, address: str, body: Any = None) -> int:
    """What is answered; refusals are problems with a remedy, and kept by no cache."""
    if body is None:
        answer = client.get(address)
    else:
        answer = client.post(address, body, content_type="application/json")
    if answer.status_code >= 400 and address.startswith(("/api/", "/ogc/")):
        assert answer["Content-Type"] == "application/problem+json"
        assert answer["Cache-Control"] == "no-store"
        assert answer.json()["detail"]
    return answer.status_code


def served(state: str, who: str) -> set[int]:
    """What the API answers about what was drawn."""
    if who == "revoked key":
        # What everybody may have is sent without a look at who asks.
        return {200, 401} if state == "published" else {401}
    if state in {"withdrawn", "rejected"}:
        return {410}
    return {200} if state == "published" or who in SEEING else {404}


def described(state: str, who: str) -> int:
    """What it answers about the release itself: of a withdrawn one, that it was there."""
    if who == "revoked key":
        return 401
    if state in {"published", "withdrawn"} or who in SEEING:
        return 200
    return 410 if state == "rejected" else 404


def shown(state: str, who: str) -> int:
    """What its pages answer; they know people alone, no keys."""
    if state in {"withdrawn", "rejected"}:
        return 410
    return 200 if state == "published" or who in INSIDERS else 404


def shared(state: str, _: str) -> int:
    """What is answered where whoever looks is a stranger, as in another site's page."""
    return {"published": 200, "withdrawn": 410}.get(state, 404)


def harvested(state: str, who: str) -> int:
    """What OGC API - Features answers, where nobody sees more than strangers do."""
    return 401 if who == "revoked key" else shared(state, who)


DOORS = {
    "/api/v1/releases/{id}": described,
    "/maps/{id}/": shown,
    "/maps/{id}/privacy/": shown,
    "/embed/{id}/": shared,
    "/ogc/collections/{id}.{layer}": harvested,
    "/ogc/collections/{id}.{layer}/items": harvested,
    "/ogc/collections/{id}.{layer}/items/0": harvested,
}
"""Where a release is met beside its files, and what is answered to whom in which state."""

COURSES = (("draft", "rejected"), ("draft", "published", "withdrawn"))
"""The states that a release can go through, one after the other."""


def move(release: Release, state: str) -> None:
    """Bring a release to its next state."""
    if state == "published":
        publish(release)
    elif state == "withdrawn":
        release_withdraw(release=release, by=None)
    elif state == "rejected":
        release_reject(release=release, by=None, reason=REASON)


@pytest.mark.parametrize("course", COURSES, ids=" ".join)
@pytest.mark.parametrize("kind", MAKES)
def test_every_part_and_door_is_for_those_who_may_see_it(
    kind: str, course: tuple[str, ...]
) -> None:
    release = draft(kind)
    names = [file.name for file in release.files.all()]
    assert {f"{layer}.csv" for layer in LAYERS[kind]} <= set(names)
    comers = {who: comer(who) for who in (*VISITORS, *KEYS)}
    for state in course:
        move(release, state)
        for who, client in comers.items():
            for address, body in parts(release, kind, names):
                assert status(client, address, body) in served(state, who), (who, state, address)
            for door, answered in DOORS.items():
                address = door.format(id=release.pk, layer=LAYERS[kind][0])
                assert status(client, address) == answered(state, who), (who, state, address)


def test_no_state_is_left_out() -> None:
    assert {state for course in COURSES for state in course} == set(ReleaseState.values)
