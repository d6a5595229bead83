"""Access to a release in each of its states, at every URL."""

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
from dpgeo.releases.models import Release
from dpgeo.releases.services import DECISIONS
from dpgeo.releases.states import ACTIONS, STATES, ReleaseState, StateRules
from tests.unit.artefacts.releases import points_release, slices_release
from tests.web.api import program
from tests.web.published import REASON, install, make_dataset, make_member, make_organisation
from tests.web.test_api_files import INSIDERS, VISITORS, visitor

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

KEYS: dict[str, tuple[str, list[str]]] = {
    "drafts key": ("example-city", [Scope.RELEASES_REQUEST]),
    "budgets key": ("example-city", [Scope.BUDGETS_READ]),
    "other's key": ("other-town", list(Scope.values)),
    "revoked key": ("example-city", list(Scope.values)),
}
"""The organisation and the scopes of each API key in these tests, by the key's name."""

SEEING = {*INSIDERS, "drafts key"}
"""Names of the readers who may see the publisher's drafts."""

BOX = "4.3,52,4.9,52.4"


def comer(who: str) -> Client:
    """Return the client of the reader called `who`: a person's browser, or a program with a key."""
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
    """Return a release of perturbed points that publishes an attribute of each report, `app`."""
    released = points_release()
    assert isinstance(released.content, PointsRelease)
    counted_release = dataclasses.replace(
        released.content,
        attributes=(Attribute("app", ("walker", "rider")),),
        combination=np.arange(5, dtype=np.int32) % 2,
    )
    return dataclasses.replace(released, content=counted_release)


MAKES = {"slices": slices_release, "points": told_of_people}

LAYERS = {"slices": ["cells-00-12", "cells-12-24"], "points": ["points", "density"]}


def draft(kind: str) -> Release:
    """Make a release that is neither published nor rejected yet.

    `kind` is the key in MAKES of the function that makes its content.
    """
    dataset = make_dataset(
        points_budget=make_level("ln 16", 200),
        public_attributes=[{"column": "app", "values": ["walker", "rider"]}],
    )
    return install(dataset, MAKES[kind](), published=False)


def parts(release: Release, kind: str, names: list[str]) -> list[tuple[str, Any]]:
    """Return API URLs of a release's content, each with the body to post, or None to get it."""
    base = f"/api/v1/releases/{release.pk}"
    requests: list[tuple[str, Any]] = [(f"{base}/files/{name}", None) for name in names]
    for layer in LAYERS[kind]:
        requests.append((f"{base}/tiles/{layer}.json", None))
        requests.append((f"{base}/styles/{layer}.json", None))
        if kind == "slices":
            requests.append((f"{base}/query?bbox={BOX}&layer={layer}", None))
            requests.append((f"{base}/query", {"bbox": json.loads(f"[{BOX}]"), "layer": layer}))
    return requests


def status(client: Client, address: str, body: Any = None) -> int:
    """Return a response's status; check that a refusal names a remedy and is not cached."""
    if body is None:
        answer = client.get(address)
    else:
        answer = client.post(address, body, content_type="application/json")
    if answer.status_code >= 400 and address.startswith(("/api/", "/ogc/")):
        assert answer["Content-Type"] == "application/problem+json"
        assert answer["Cache-Control"] == "no-store"
        assert answer.json()["detail"]
    return answer.status_code


SEEN_BY_STRANGERS = {
    "draft": set(),
    "published": {"facts", "files"},
    "withdrawn": {"facts"},
    "rejected": set(),
}
"""What strangers may see in each state, written independently of the table of states."""


def rules_of(state: str) -> StateRules:
    """Return the rules of a state from the product's table of states."""
    return STATES[ReleaseState(state)]


def served(state: str, who: str) -> set[int]:
    """Return the statuses with which the API may answer a request for a release's content.

    Status 202 is for a file that has to be made first, for readers who may have it.
    """
    rules = rules_of(state)
    if who == "revoked key":
        # Responses that everybody may see are sent without checking the key.
        return {200, 202, 401} if rules.public else {401}
    if rules.gone:
        return {410}
    return {200, 202} if rules.public or who in SEEING else {404}


def described(state: str, who: str) -> int:
    """Return the expected status of the API's document about the release.

    It is 401 for a revoked key, 200 if the reader may see the release's facts, 410 if the release
    is gone, and otherwise 404.
    """
    if who == "revoked key":
        return 401
    rules = rules_of(state)
    if rules.known or who in SEEING:
        return 200
    return 410 if rules.gone else 404


def shown(state: str, who: str) -> int:
    """Return the expected status of a release's pages, which do not accept API keys."""
    rules = rules_of(state)
    if rules.gone:
        return 410
    return 200 if rules.public or who in INSIDERS else 404


def awaited(state: str, who: str) -> int:
    """Return the expected status of the page that waits for a file, which no job makes here."""
    return 202 if shown(state, who) == 200 else shown(state, who)


def shared(state: str, _: str) -> int:
    """Return the expected status of an embedded page, where readers are not identified."""
    rules = rules_of(state)
    if not rules.known:
        return 404
    return 410 if rules.gone else 200


def harvested(state: str, who: str) -> int:
    """Return the expected status of OGC API - Features, where even members see only public maps."""
    return 401 if who == "revoked key" else shared(state, who)


def rewritten(state: str, who: str) -> int:
    """Return the expected status of a file that is generated on request.

    Such requests are counted, so the API key is checked.
    """
    return 401 if who == "revoked key" else max(served(state, who))


DOORS = {
    "/api/v1/releases/{id}": described,
    "/maps/{id}/": shown,
    "/maps/{id}/privacy/": shown,
    "/maps/{id}/files/{layer}.csv": awaited,
    "/embed/{id}/": shared,
    "/embed/{id}/still/": shared,
    "/api/v1/releases/{id}/spreadsheet/{layer}": rewritten,
    "/ogc/collections/{id}.{layer}": harvested,
    "/ogc/collections/{id}.{layer}/items": harvested,
    "/ogc/collections/{id}.{layer}/items/0": harvested,
}
"""URLs at which a release may be seen, except those of its files.

Each has a function that returns the expected status for a state and a reader.
"""


def courses() -> list[tuple[str, ...]]:
    """Return all sequences of states, from draft to a final state, that the table of states
    allows.
    """
    ways: list[tuple[str, ...]] = []
    left: list[tuple[str, ...]] = [(ReleaseState.DRAFT.value,)]
    while left:
        way = left.pop()
        ahead = {ACTIONS[name].to for name in rules_of(way[-1]).actions} - {None, *way}
        left += [(*way, state) for state in sorted(filter(None, ahead))]
        ways += [] if ahead else [way]
    return sorted(ways)


def move(release: Release, state: str) -> None:
    """Move a release to the given next state."""
    for name in release.rules.actions:
        if ACTIONS[name].to == state:
            more = dict.fromkeys(ACTIONS[name].inputs, REASON)
            DECISIONS[name](release=release, by=None, **more)
            return


def test_every_state_is_tested() -> None:
    assert {state for course in courses() for state in course} == set(ReleaseState.values)
    assert SEEN_BY_STRANGERS.keys() == set(ReleaseState.values) == {*STATES}


def test_the_table_of_states_is_consistent_and_keeps_the_promise() -> None:
    for state, rules in STATES.items():
        seen = SEEN_BY_STRANGERS[state.value]
        assert (rules.known, rules.public) == ("facts" in seen, "files" in seen)
        assert (rules.gone is None) == rules.served
        assert set(rules.actions) <= ACTIONS.keys()
    assert ACTIONS.keys() == DECISIONS.keys()


@pytest.mark.parametrize("course", courses(), ids=" ".join)
@pytest.mark.parametrize("kind", MAKES)
def test_every_address_answers_only_those_who_may_see_the_release(
    kind: str, course: tuple[str, ...]
) -> None:
    release = draft(kind)
    names = [file.name for file in release.files.all()]
    assert {f"{layer}.csv" for layer in LAYERS[kind]} <= set(names)
    comers = {who: comer(who) for who in (*VISITORS, *KEYS)}
    # All sequences begin with the draft, so the draft is tested only in the first one.
    for state in course if course == courses()[0] else course[1:]:
        move(release, state)
        for who, client in comers.items():
            for address, body in parts(release, kind, names):
                assert status(client, address, body) in served(state, who), (who, state, address)
            for door, answered in DOORS.items():
                address = door.format(id=release.pk, layer=LAYERS[kind][0])
                assert status(client, address) == answered(state, who), (who, state, address)


STRANGERS = ("anonymous", "other", "budgets key", "other's key")


def holds(answer: Any, facts: list[str]) -> bool:
    """Return whether a response contains any of the given facts."""
    body = answer.getvalue().decode(errors="replace")
    return any(fact in body for fact in facts)


@pytest.mark.parametrize("course", courses(), ids=" ".join)
def test_strangers_never_see_more_than_promised_at_any_address(course: tuple[str, ...]) -> None:
    """Strangers never see more at any URL than `SEEN_BY_STRANGERS` allows.

    The limits are written in this file, so a mistake in the product's table of states is found.
    """
    kind = "slices"
    release = draft(kind)
    Release.objects.filter(pk=release.pk).update(title="Secret walks", description="By night")
    release.refresh_from_db()
    names = [file.name for file in release.files.all()]
    comers = {who: comer(who) for who in STRANGERS}
    files = [address for address, body in parts(release, kind, names) if body is None]
    lists = ["/", "/api/v1/releases", "/api/v1/catalogue", "/ogc/collections", "/sitemap.xml"]
    doors = [door.format(id=release.pk, layer=LAYERS[kind][0]) for door in DOORS]
    for state in course:
        move(release, state)
        seen = SEEN_BY_STRANGERS[state]
        for who, client in comers.items():
            for address in files:
                sent = client.get(address).status_code in {200, 202}
                assert sent == ("files" in seen), (who, address)
            for address in [*doors, f"/maps/{release.pk}/basemap.json"]:
                answer = client.get(address)
                shows = holds(answer, ["Secret walks", "By night"])
                assert "facts" in seen or not shows, (who, state, address)
                assert "facts" in seen or answer.status_code in {404, 410}, (who, state, address)
            for address in lists:
                assert "files" in seen or not holds(client.get(address), [release.pk]), address
