"""Notes on maps: text by an organisation, approved by whoever publishes the map."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.utils.html import escape

from dpgeo.accounts.models import Role, Scope
from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.releases.models import Release
from dpgeo.releases.notes import MAX_NOTE_LENGTH, release_annotate
from dpgeo.releases.publication import move
from dpgeo.releases.services import release_publish, release_run
from tests.makers import make_user
from tests.web.api import program
from tests.web.desk import Desk
from tests.web.published import install, make_dataset, make_member

pytestmark = pytest.mark.django_db

INSIDE = {"longitude": 4.55, "latitude": 52.1}
HARBOUR = {"text": 'Harbour: the <b>fullest</b> squares & "more".', **INSIDE}
MARKET = {"text": "Market: fewer than at the harbour.", "longitude": 4.5, "latitude": 52.08}


@pytest.fixture
def draft() -> Release:
    """Make a draft whose noise has been drawn."""
    return install(make_dataset(), published=False)


def annotate(release: Release, *notes: Any) -> Release:
    return release_annotate(release=release, by=None, notes=list(notes))


def refused(release: Release, *notes: Any) -> str:
    with pytest.raises(InvalidInput) as refusal:
        annotate(release, *notes)
    assert refusal.value.field == "notes"
    return refusal.value.message


def test_notes_are_few_short_plain_and_on_the_map(draft: Release) -> None:
    assert "5 that matter" in refused(draft, *[HARBOUR] * 6)
    assert "shorten" in refused(draft, HARBOUR | {"text": "x" * (MAX_NOTE_LENGTH + 1)})
    assert "empty" in refused(draft, HARBOUR | {"text": " "})
    for text in ("two\nlines", "turned \u202e round", "zero\u200bwidth"):
        assert "one line" in refused(draft, HARBOUR | {"text": text})
    for other_than_text in (5, ["a"], None):
        assert "must be text" in refused(draft, HARBOUR | {"text": other_than_text})
    for place in (0, 200, float("nan"), "52", None, True, 10**400):
        assert "outside the study area" in refused(draft, HARBOUR | {"latitude": place})
    for other in ("text", {"text": "no place"}, HARBOUR | {"colour": "red"}, None):
        assert "must have text" in refused(draft, other)
    annotate(draft, HARBOUR, MARKET)
    draft.refresh_from_db()
    assert draft.notes == [HARBOUR, MARKET]
    assert annotate(draft).notes_sha256 == ""


def test_nobody_publishes_notes_unread(draft: Release) -> None:
    approver = make_user(draft.dataset.organisation, Role.APPROVER)
    read = annotate(draft, HARBOUR).notes_sha256
    changed = annotate(Release.objects.get(), MARKET)
    for seen in ("", read, "0" * 64):
        with pytest.raises(Conflict, match="read them"):
            release_publish(release=Release.objects.get(), by=approver, notes_sha256=seen)
    release_publish(release=changed, by=approver, notes_sha256=changed.notes_sha256)
    with pytest.raises(Conflict, match="publication fixes"):
        annotate(changed, HARBOUR)
    assert Release.objects.get().notes == [MARKET]


def test_notes_written_while_it_is_published_stop_it(draft: Release) -> None:
    as_read = Release.objects.get()
    annotate(draft, HARBOUR)
    with pytest.raises(Conflict):
        move(as_read, "publish")
    assert not Release.objects.get().rules.public


def rows(*notes: dict[str, Any]) -> dict[str, str]:
    """Return the form data of a person who enters these notes."""
    return {
        f"note-{number}-{name}": str(value)
        for number, note in enumerate(notes, start=1)
        for name, value in note.items()
    }


def test_the_desk_warns_shows_and_publishes_what_was_read(desk: Desk) -> None:
    release = desk.request(desk.declare(ready=True))
    page = f"/desk/releases/{release.pk}/"
    assert "Put notes on the map" not in desk.page(page), "there is no map to look at yet"
    release_run(release_id=release.pk)
    assert "Say only what this map shows." in desk.page(page)
    note = {"text": "The <i>north</i> is fuller.", "latitude": 50.05, "longitude": 10.05}
    answer = desk.client.post(f"{page}notes/", rows(note), follow=True)
    shown = answer.content.decode()
    assert escape(note["text"]) in shown
    assert str(note["text"]) not in shown
    assert "You publish these words with the map" in shown
    read = re.search(r'name="notes_sha256" value="([0-9a-f]{64})"', shown)
    assert read
    stale = desk.client.post(f"{page}publish/", {"notes_sha256": "0" * 64}, follow=True)
    assert "read them as they are now" in stale.content.decode()
    desk.client.post(f"{page}publish/", {"notes_sha256": read[1]})
    release.refresh_from_db()
    assert release.rules.public
    assert "Put notes on the map" not in desk.page(page)


def test_readers_see_notes_as_the_publishers_words(draft: Release, client: Client) -> None:
    annotate(draft, HARBOUR, MARKET)
    release_publish(release=draft, by=None, notes_sha256=draft.notes_sha256)
    for page in ("/maps/{}/", "/embed/{}/", "/embed/{}/still/", "/de/maps/{}/"):
        text = client.get(page.format(draft.pk)).content.decode()
        assert escape(HARBOUR["text"]) in text
        assert "<b>fullest" not in text
        assert ("Notizen von" if page.startswith("/de") else "Notes by Example City") in text
    text = client.get(f"/maps/{draft.pk}/").content.decode()
    assert "not figures of this map" in text
    assert client.get(f"/api/v1/releases/{draft.pk}").json()["notes"] == [HARBOUR, MARKET]
    listed = client.get("/api/v1/releases").json()["results"]
    assert listed[0]["notes"] == [HARBOUR, MARKET]


def test_a_withdrawn_map_says_nothing_any_more(draft: Release, client: Client) -> None:
    annotate(draft, HARBOUR)
    release_publish(release=draft, by=None, notes_sha256=draft.notes_sha256)
    move(draft, "withdraw")
    facts = client.get(f"/api/v1/releases/{draft.pk}").json()
    assert (facts["notes"], facts["notes_sha256"]) == ([], "")
    for page in (f"/maps/{draft.pk}/", f"/embed/{draft.pk}/", f"/embed/{draft.pk}/still/"):
        assert "Harbour" not in client.get(page).content.decode()


def test_a_program_writes_and_publishes_what_it_read(draft: Release) -> None:
    organisation = draft.dataset.organisation
    writer = make_member(organisation, "writer", Role.ADMINISTRATOR)
    approver = make_member(organisation, "approver", Role.ADMINISTRATOR)
    address = f"/api/v1/releases/{draft.pk}"
    asks = program(organisation, writer, [Scope.RELEASES_REQUEST])
    answer = asks.ask("PUT", f"{address}/notes", {"notes": [HARBOUR]})
    assert answer["notes"] == [HARBOUR]
    problem = asks.ask("PUT", f"{address}/notes", {"notes": [{"text": "no place"}]}, 400)
    assert problem["field"] == "notes"
    asks.ask("PUT", f"{address}/notes", {}, 400)
    publishes = program(organisation, approver, [Scope.RELEASES_PUBLISH])
    publishes.ask("PUT", f"{address}/notes", {"notes": []}, 403)
    assert publishes.ask("POST", f"{address}/publish", status=409)["field"] == "notes_sha256"
    read = {"notes_sha256": answer["notes_sha256"]}
    assert publishes.ask("POST", f"{address}/publish", read)["state"] == "published"
    asks.ask("PUT", f"{address}/notes", {"notes": []}, 409)
