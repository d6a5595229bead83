"""API keys: shown once, stored as a hash, limited to the role of the person who made them."""

from __future__ import annotations

import datetime

import pytest
from django.db import connection
from django.test import Client

from dpgeo.accounts.models import ApiKey, Membership, Role, Scope, User
from dpgeo.accounts.selectors import key_owner, may, may_administer, visible_organisations
from dpgeo.accounts.services import key_create, key_mark_used, key_revoke
from dpgeo.core.errors import InvalidInput, NotAllowed
from tests.makers import make_dataset, make_organisation, make_user
from tests.web.desk import make_desk

pytestmark = pytest.mark.django_db

EVERYTHING = list(Scope.values)


def bearer(secret: str) -> User:
    """Return the user that a valid key belongs to."""
    user = key_owner(secret)
    assert user is not None
    return user


def test_the_secret_is_long_shown_once_and_not_stored() -> None:
    desk = make_desk()
    key, secret = key_create(
        organisation=desk.organisation, name="nightly", scopes=EVERYTHING, created_by=desk.user
    )
    assert secret.startswith("dpg_")
    assert len(secret) == 47  # "dpg_" and 43 characters of 6 bits each, for 256 bits
    assert key.prefix == secret[:12]
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM accounts_apikey")
        stored = str(cursor.fetchall())
    assert key.sha256 in stored
    assert secret not in stored
    assert secret[12:] not in stored


def test_a_key_allows_what_its_scope_says_and_nothing_private() -> None:
    desk = make_desk()
    dataset = make_dataset(desk.organisation)
    actions = {
        Scope.DATASETS_WRITE: "edit",
        Scope.UPLOADS_WRITE: "upload",
        Scope.RELEASES_REQUEST: "request",
        Scope.RELEASES_PUBLISH: "publish",
    }
    for scope, opened in actions.items():
        _, secret = key_create(
            organisation=desk.organisation, name="one", scopes=[scope], created_by=desk.user
        )
        user = bearer(secret)
        assert {action for action in actions.values() if may(user, dataset, action)} == {opened}
    _, secret = key_create(
        organisation=desk.organisation, name="all", scopes=EVERYTHING, created_by=desk.user
    )
    user = bearer(secret)
    assert may(user, dataset, "view")
    assert not may(user, dataset, "see_private")
    assert not may(user, dataset, "set_budget")
    assert not may_administer(user, desk.organisation)


def test_a_superusers_key_is_limited_to_one_organisation() -> None:
    mine, other = make_organisation(), make_organisation()
    root = User.objects.create_superuser("root")
    _, secret = key_create(organisation=mine, name="root's", scopes=EVERYTHING, created_by=root)
    user = bearer(secret)
    assert list(visible_organisations(user)) == [mine]
    assert may(user, make_dataset(mine), "publish")
    for action in ("view", "edit", "publish"):
        assert not may(user, make_dataset(other), action)
    assert not may(user, make_dataset(mine), "see_private")


def test_a_key_never_allows_more_than_its_makers_role() -> None:
    desk = make_desk()
    dataset = make_dataset(desk.organisation)
    _, secret = key_create(
        organisation=desk.organisation, name="all", scopes=EVERYTHING, created_by=desk.user
    )
    membership = Membership.objects.get(user=desk.user)
    membership.role = Role.STEWARD
    membership.save()
    assert may(bearer(secret), dataset, "request")
    assert not may(bearer(secret), dataset, "publish")
    membership.delete()
    assert key_owner(secret) is None


@pytest.mark.parametrize("end", ["revoked", "inactive", "deleted"])
def test_an_expired_or_revoked_key_allows_nothing(end: str) -> None:
    desk = make_desk()
    key, secret = key_create(
        organisation=desk.organisation, name="all", scopes=EVERYTHING, created_by=desk.user
    )
    assert key_owner(secret) == desk.user
    if end == "revoked":
        key_revoke(key=key, by=desk.user)
        assert key.revoked_at
    elif end == "inactive":
        User.objects.filter(pk=desk.user.pk).update(is_active=False)
    else:
        desk.user.delete()
    assert key_owner(secret) is None


def test_only_administrators_make_and_revoke_keys() -> None:
    desk = make_desk()
    key, secret = key_create(
        organisation=desk.organisation, name="all", scopes=EVERYTHING, created_by=desk.user
    )
    approver = make_user(desk.organisation, Role.APPROVER)
    stranger = make_user(make_organisation(), Role.ADMINISTRATOR)
    for user in (approver, stranger, bearer(secret)):
        with pytest.raises(NotAllowed):
            key_create(organisation=desk.organisation, name="x", scopes=EVERYTHING, created_by=user)
        with pytest.raises(NotAllowed):
            key_revoke(key=key, by=user)


@pytest.mark.parametrize(
    ("name", "scopes", "field"),
    [
        ("", EVERYTHING, "name"),
        ("x" * 101, EVERYTHING, "name"),
        ("a\nb", EVERYTHING, "name"),
        ("x", [], "scopes"),
        ("x", ["see_private"], "scopes"),
    ],
)
def test_an_invalid_declaration_of_a_key_is_refused(
    name: str, scopes: list[str], field: str
) -> None:
    desk = make_desk()
    with pytest.raises(InvalidInput) as refusal:
        key_create(organisation=desk.organisation, name=name, scopes=scopes, created_by=desk.user)
    assert refusal.value.field == field


def test_the_day_of_last_use_is_stored_without_the_hour() -> None:
    desk = make_desk()
    key, _ = key_create(
        organisation=desk.organisation, name="all", scopes=EVERYTHING, created_by=desk.user
    )
    key_mark_used(key=key)
    key.refresh_from_db()
    assert type(key.last_used_on) is datetime.date


def test_the_desk_makes_a_key_and_shows_its_secret_once() -> None:
    desk = make_desk()
    typed = {"organisation": desk.organisation.pk, "name": "nightly", "scopes": ["jobs:read"]}
    assert desk.client.post("/desk/keys/", typed)["Location"].startswith("/desk/account/confirm/")
    assert not ApiKey.objects.exists()
    response = desk.confirmed().post("/desk/keys/", typed)
    key = ApiKey.objects.get()
    assert response.status_code == 200
    assert "no-store" in response["Cache-Control"]
    text = response.content.decode()
    secret = text.partition("<code>dpg_")[2].partition("</code>")[0]
    assert key_owner(f"dpg_{secret}") == desk.user
    assert secret not in desk.page("/desk/keys/")
    assert key.prefix in desk.page("/desk/keys/")
    desk.client.post(f"/desk/keys/{key.pk}/revoke/")
    assert key_owner(f"dpg_{secret}") is None
    assert "revoked" in desk.page("/desk/keys/")


@pytest.mark.parametrize("role", [None, Role.STEWARD, Role.APPROVER])
def test_the_desk_gives_keys_only_to_administrators(role: Role | None) -> None:
    desk = make_desk()
    key, _ = key_create(
        organisation=desk.organisation, name="mine", scopes=EVERYTHING, created_by=desk.user
    )
    client = desk.confirmed(desk.signed_in("other", role=role))
    page = client.get("/desk/keys/")
    assert page.status_code == (200 if role else 404)
    assert key.prefix not in page.content.decode()
    typed = {"organisation": desk.organisation.pk, "name": "x", "scopes": ["jobs:read"]}
    assert client.post("/desk/keys/", typed).status_code == (422 if role else 404)
    assert client.post(f"/desk/keys/{key.pk}/revoke/").status_code == 404
    assert ApiKey.objects.get().revoked_at is None


@pytest.mark.parametrize(("role", "ends"), [(Role.ADMINISTRATOR, True), (Role.STEWARD, False)])
def test_the_admin_revokes_and_does_nothing_else(role: Role, ends: bool) -> None:
    desk = make_desk()
    key, _ = key_create(
        organisation=desk.organisation, name="mine", scopes=EVERYTHING, created_by=desk.user
    )
    client = Client()
    client.force_login(make_user(desk.organisation, role, is_staff=True))
    page = client.get(f"/admin/accounts/apikey/{key.pk}/change/")
    assert page.status_code == 200
    assert key.sha256 not in page.content.decode()
    assert client.get("/admin/accounts/apikey/add/").status_code == 403
    chosen = {"action": "revoke", "_selected_action": [key.pk]}
    assert client.post("/admin/accounts/apikey/", chosen).status_code == 302
    key.refresh_from_db()
    assert (key.revoked_at is not None) == ends
