"""A user's own account: password and sessions, and API keys that expire and are replaced."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client
from django.utils import timezone

from dpgeo.accounts.breached import check_list, is_listed
from dpgeo.accounts.models import ApiKey, Scope, SignedIn, User
from dpgeo.accounts.selectors import key_owner
from dpgeo.accounts.services import OVERLAP, key_create, key_revoke, key_rotate
from dpgeo.audit.models import Event, EventKind
from dpgeo.core.errors import Conflict
from dpgeo.pages.desk import confirming
from tests.web.desk import PASSWORD, Desk, make_desk

pytestmark = pytest.mark.django_db

ACCOUNT = "/desk/account/"
NEW = "quite other secret words"


def signed_in(address: str = "192.0.2.1") -> Client:
    client = Client(REMOTE_ADDR=address)
    client.post("/accounts/login/", {"username": "owner", "password": PASSWORD})
    return client


def change(client: Client, old: str = PASSWORD, new: str = NEW) -> Any:
    typed = {"old_password": old, "new_password1": new, "new_password2": new}
    return client.post(ACCOUNT, typed)


def test_a_new_password_ends_all_other_sessions(desk: Desk) -> None:
    here, elsewhere = signed_in(), signed_in("198.51.100.9")
    page = here.get(ACCOUNT).content.decode()
    assert "192.0.2.0/24" in page
    assert "198.51.100.0/24" in page
    assert change(here).status_code == 302
    assert here.get(ACCOUNT).status_code == 200
    assert elsewhere.get(ACCOUNT).status_code == 302
    assert User.objects.get().check_password(NEW)
    assert SignedIn.objects.count() == 1
    assert Event.objects.filter(kind=EventKind.PASSWORD, who="owner").exists()


def test_the_old_password_is_needed_and_cannot_be_guessed(desk: Desk, settings: Any) -> None:
    settings.DPGEO_FAILED_SIGN_INS = 4
    here = signed_in()
    answers = [change(here, "wrong").status_code for _ in range(5)]
    assert answers == [422, 422, 422, 422, 429]
    assert change(here).status_code == 429
    assert User.objects.get().check_password(PASSWORD)


def test_a_session_can_be_ended_by_its_user_alone(desk: Desk) -> None:
    here, elsewhere = signed_in(), signed_in("198.51.100.9")
    stranger = make_desk("Other house", "stranger").confirmed()
    session = SignedIn.objects.get(origin="198.51.100.0/24")
    address = f"{ACCOUNT}sessions/{session.pk}/end/"
    assert stranger.post(address).status_code == 404
    assert elsewhere.get(ACCOUNT).status_code == 200
    assert here.get(address).status_code == 405
    stale = Client()
    stale.force_login(desk.user)
    assert stale.post(address)["Location"].startswith("/desk/account/confirm/")
    assert elsewhere.get(ACCOUNT).status_code == 200
    assert here.post(address).status_code == 302
    assert elsewhere.get(ACCOUNT).status_code == 302
    assert here.get(ACCOUNT).status_code == 200


def test_superusers_end_the_sessions_of_others(desk: Desk) -> None:
    other = make_desk("Other house", "other")
    other.confirmed()
    ended = signed_in()
    root, staff = Client(), Client()
    root.force_login(User.objects.create_superuser("root", password=PASSWORD))
    staff.force_login(User.objects.create_user("staff", password=PASSWORD, is_staff=True))
    form = {"action": "end_sessions", "_selected_action": [desk.user.pk]}
    assert staff.post("/admin/accounts/user/", form).status_code == 403
    assert ended.get(ACCOUNT).status_code == 200
    assert root.post("/admin/accounts/user/", form).status_code == 302
    assert ended.get(ACCOUNT).status_code == 302
    assert other.client.get(ACCOUNT).status_code == 200
    event = Event.objects.filter(kind=EventKind.SIGN_OUT).latest("id")
    assert (event.who, event.subject) == ("root", desk.user.username)


def test_signing_out_takes_a_session_off_the_list(desk: Desk) -> None:
    here, elsewhere = signed_in(), signed_in("198.51.100.9")
    answer = elsewhere.post("/accounts/logout/")
    assert answer.headers["Clear-Site-Data"] == '"cache", "storage"'
    assert "198.51.100.0/24" not in here.get(ACCOUNT).content.decode()


@pytest.mark.parametrize(
    "place", ["https://evil.example/", "//evil.example/", "javascript:alert(1)"]
)
def test_signing_in_leads_to_no_other_site(desk: Desk, place: str) -> None:
    address = f"/accounts/login/?next={quote(place)}"
    words = {"username": desk.user.username, "password": PASSWORD, "next": place}
    answer = Client().post(address, words)
    assert answer.status_code == 302
    assert answer["Location"] == "/desk/"


def test_names_of_the_site_and_the_organisation_make_no_password(desk: Desk, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["maps.vessby.example", "testserver"]
    settings.DPGEO_PASSWORD_WORDS = ["footfall"]
    desk.organisation.name = "Harbour authority"
    desk.organisation.save()
    client = signed_in()
    for password in ("Dpgeo-Vessby", "harbour.2026", "footfallFootfall", "Authority1!"):
        assert "names of this site" in change(client, new=password).content.decode(), password
    assert change(client, new="harbour gulls at dawn").status_code == 302


@pytest.fixture
def breached(tmp_path: Path, settings: Any) -> Path:
    words = [f"word number {n}" for n in range(500)]
    hashes = sorted(hashlib.sha1(each.encode()).hexdigest().upper() for each in words)  # noqa: S324
    path = tmp_path / "breached.txt"
    path.write_text("".join(f"{each}:{n % 7000 + 1}\r\n" for n, each in enumerate(hashes)))
    settings.DPGEO_BREACHED_PASSWORDS = str(path)
    return path


def test_every_password_of_the_list_is_found_and_no_other(breached: Path) -> None:
    assert all(is_listed(breached, f"word number {n}") for n in range(500))
    assert not any(is_listed(breached, f"other word {n}") for n in range(500))
    assert check_list() == []


def test_a_breached_password_is_refused(breached: Path, desk: Desk) -> None:
    answer = change(signed_in(), new="word number 77")
    assert answer.status_code == 422
    assert "list of stolen passwords" in answer.content.decode()
    assert User.objects.get().check_password(PASSWORD)


def make_key(desk: Desk, days: int | None) -> tuple[ApiKey, str]:
    return key_create(
        organisation=desk.organisation,
        name="nightly",
        scopes=[Scope.JOBS_READ],
        created_by=desk.user,
        days=days,
    )


def test_a_key_works_until_the_end_of_its_last_day(desk: Desk) -> None:
    key, secret = make_key(desk, 30)
    today = timezone.now().date()
    for last, works in ((today, True), (today - timedelta(days=1), False)):
        ApiKey.objects.filter(pk=key.pk).update(expires_on=last)
        assert (key_owner(secret) is not None) == works
        answer = Client(headers={"Authorization": f"Bearer {secret}"}).get("/api/v1/releases")
        assert answer.status_code == (200 if works else 401)


@pytest.mark.parametrize("days", [30, None])
def test_a_replaced_key_works_for_a_week_beside_the_new_one(desk: Desk, days: int | None) -> None:
    key, secret = make_key(desk, days)
    fresh, other = key_rotate(key=key, by=desk.user)
    key.refresh_from_db()
    today = timezone.now().date()
    assert key.expires_on == today + OVERLAP
    assert fresh.expires_on == (days and today + timedelta(days=days))
    assert (fresh.name, fresh.scopes) == (key.name, key.scopes)
    assert key_owner(secret)
    assert key_owner(other)
    key_revoke(key=key, by=desk.user)
    with pytest.raises(Conflict):
        key_rotate(key=key, by=desk.user)


def test_a_replacement_does_not_prolong_a_key(desk: Desk) -> None:
    key, _ = make_key(desk, 3)
    key_rotate(key=key, by=desk.user)
    key.refresh_from_db()
    assert key.expires_on == timezone.now().date() + timedelta(days=3)


def test_entries_wait_for_their_own_page_alone_and_not_for_long(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, typed = "/desk/webhooks/", {"url": "https://hooks.example.org/of-house"}
    desk.client.post(address, typed)
    desk.confirmed()
    assert "Your entries" not in desk.page("/desk/keys/")
    assert "of-house" not in desk.page(address)
    late = Client()
    late.force_login(desk.user)
    late.post(address, typed)
    monkeypatch.setattr(confirming, "RECENTLY", -1)
    kept = late.session[confirming.KEPT]
    assert kept["typed"] == {"url": [typed["url"]]}
    monkeypatch.setattr(confirming, "is_confirmed", lambda request: True)
    assert "of-house" not in late.get(address).content.decode()
    # A form larger than CACHE_SIZE is not stored in the session.
    monkeypatch.undo()
    late.post(address, {"url": "x" * (confirming.CACHE_SIZE + 1)})
    assert confirming.KEPT not in late.session
