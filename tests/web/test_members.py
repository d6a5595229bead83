"""Members: invitations by mail, roles on the desk, and leaving an organisation."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from dpgeo.accounts import members
from dpgeo.accounts.members import find_invitation, invitation_create
from dpgeo.accounts.models import (
    ApiKey,
    Invitation,
    Membership,
    OutgoingMail,
    Role,
    Scope,
    User,
)
from dpgeo.accounts.selectors import key_owner
from dpgeo.accounts.services import key_create
from dpgeo.audit.models import Event, EventKind
from dpgeo.core.errors import InvalidInput, NotAllowed
from tests.web.desk import PASSWORD, Desk, make_desk
from tests.web.mailbox import deliver

pytestmark = pytest.mark.django_db

MEMBERS, HELD = "/desk/members/invented-house/", "/accounts/invitation/"
NEW = "quite other secret words"


def enter(name: str = "owner") -> Client:
    client = Client(REMOTE_ADDR="192.0.2.1")
    client.post("/accounts/login/", {"username": name, "password": PASSWORD})
    return client


def invite(client: Client, email: str = "dan@example.org", role: str = Role.APPROVER) -> Any:
    return client.post(MEMBERS, {"email": email, "role": role})


def link_in_mail() -> str:
    deliver()
    found = re.search(rf"http://testserver({HELD}[\w-]{{43}}/)", str(mail.outbox[-1].body))
    assert found, mail.outbox[-1].body
    return found[1]


def follow(link: str, client: Client | None = None) -> Client:
    """Open an invitation link; check that it redirects to a URL without the secret."""
    client = client or Client()
    assert client.get(link)["Location"] == HELD
    return client


def test_somebody_new_joins_by_the_link_in_a_mail(desk: Desk) -> None:
    client = enter()
    assert invite(client).status_code == 302
    assert mail.outbox == []
    assert "not sent yet" in client.get(MEMBERS).content.decode()
    assert deliver()[0].to == ["dan@example.org"]
    assert "Invented house" in mail.outbox[0].body
    assert not Invitation.objects.filter(sha256__contains=link_in_mail()[-44:-1]).exists()
    dan = follow(link_in_mail())
    assert "Join Invented house" in dan.get(HELD).content.decode()
    weak = {"username": "dan", "password1": "password", "password2": "password"}
    assert dan.post(HELD, weak).status_code == 422
    typed = {"username": "dan", "password1": NEW, "password2": NEW}
    assert dan.post(HELD, typed)["Location"] == "/desk/"
    assert dan.get("/desk/").status_code == 200
    user = User.objects.get(username="dan")
    assert user.email == "dan@example.org"
    assert Membership.objects.get(user=user).role == Role.APPROVER
    events = Event.objects.filter(kind=EventKind.INVITED)
    assert [(each.who, each.subject) for each in events] == [("owner", "somebody at example.org")]
    # An invitation link works only once.
    assert follow(link_in_mail()).get(HELD).status_code == 404


def test_a_member_elsewhere_joins_with_the_account_they_have(desk: Desk) -> None:
    stranger = make_desk("Other house", "stranger")
    invite(enter())
    follow(link_in_mail(), stranger.client)
    assert stranger.client.post(HELD)["Location"] == "/desk/"
    assert Membership.objects.filter(user=stranger.user).count() == 2


def test_an_invitation_changes_no_role(desk: Desk) -> None:
    invite(enter(), role=Role.STEWARD)
    follow(link_in_mail(), desk.client).post(HELD)
    assert Membership.objects.get(user=desk.user).role == Role.ADMINISTRATOR


def test_a_link_that_was_used_meanwhile_makes_no_account(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    invite(enter())
    dan = follow(link_in_mail())
    found = Invitation.objects.get()
    # Another request accepts the invitation after this one has looked it up.
    monkeypatch.setattr("dpgeo.pages.desk.members.find_invitation", lambda _: found)
    Invitation.objects.all().delete()
    typed = {"username": "dan", "password1": NEW, "password2": NEW}
    assert dan.post(HELD, typed).status_code == 302
    assert not User.objects.filter(username="dan").exists()


def test_a_guessed_link_makes_no_session(desk: Desk) -> None:
    client = follow(f"{HELD}{'x' * 43}/")
    assert not client.cookies.get("dpgeo_session")


def test_nobody_takes_a_name_that_differs_in_case_alone(desk: Desk) -> None:
    invite(enter())
    dan = follow(link_in_mail())
    typed = {"username": "Owner", "password1": NEW, "password2": NEW}
    assert dan.post(HELD, typed).status_code == 422
    assert User.objects.count() == 1


@pytest.mark.parametrize("end", ["late", "withdrawn", "inviter left", "replaced", "forged"])
def test_an_invitation_ends(desk: Desk, end: str) -> None:
    client = enter()
    invite(client)
    link = link_in_mail()
    if end == "late":
        Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    elif end == "withdrawn":
        client.post(f"{MEMBERS}invitations/{Invitation.objects.get().pk}/withdraw/")
        assert not Invitation.objects.exists()
    elif end == "inviter left":
        Membership.objects.filter(user=desk.user).update(role=Role.APPROVER)
    elif end == "replaced":
        invite(client, "DAN@example.org")
        assert Invitation.objects.count() == 1
    else:
        link = f"{HELD}{'x' * 43}/"
    typed = {"username": "dan", "password1": NEW, "password2": NEW}
    assert follow(link).post(HELD, typed).status_code == 404
    assert not User.objects.filter(username="dan").exists()


def test_without_mail_the_link_is_shown_once(desk: Desk, settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    client = enter()
    page = invite(client).content.decode()
    link = re.search(rf"http://testserver({HELD}[\w-]{{43}}/)", page)
    assert link
    assert link[1] not in client.get(MEMBERS).content.decode()
    dan = follow(link[1])
    assert dan.get(HELD).status_code == 200
    # Nobody has proved that the address is theirs, so single sign-on must not connect to it.
    dan.post(HELD, {"username": "dan", "password1": NEW, "password2": NEW})
    assert User.objects.get(username="dan").email == ""


def test_a_withdrawn_invitation_is_not_sent(desk: Desk) -> None:
    client = enter()
    invite(client)
    client.post(f"{MEMBERS}invitations/{Invitation.objects.get().pk}/withdraw/")
    assert deliver() == []
    assert not OutgoingMail.objects.exists()


def test_an_invitation_ends_if_the_clock_was_ahead_when_it_was_made(desk: Desk) -> None:
    _, secret = invitation_create(
        organisation=desk.organisation, email="d@example.org", role=Role.STEWARD, by=desk.user
    )
    assert find_invitation(secret)
    Invitation.objects.update(created_at=timezone.now() + timedelta(hours=1))
    assert find_invitation(secret) is None


def test_invitations_are_limited(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "A_DAY", 2)
    facts: Any = {"organisation": desk.organisation, "role": Role.STEWARD, "by": desk.user}
    for number in range(2):
        invitation_create(email=f"dan{number}@example.org", **facts)
    with pytest.raises(InvalidInput, match="At most 2"):
        invitation_create(email="dan9@example.org", **facts)
    with pytest.raises(NotAllowed):
        invitation_create(email="x@example.org", **{**facts, "by": User.objects.create_user("eve")})


def test_only_administrators_manage_members(desk: Desk) -> None:
    desk.signed_in("ben", role=Role.APPROVER)
    make_desk("Other house", "stranger")
    own = Membership.objects.get(user=desk.user).pk
    for name in ("ben", "stranger"):
        client = enter(name)
        for path in ("", f"{own}/role/", f"{own}/remove/", "second-factor/"):
            assert client.post(MEMBERS + path, {"role": "steward"}).status_code == 404
        assert client.get(MEMBERS).status_code == 404
    assert Membership.objects.get(pk=own).role == Role.ADMINISTRATOR
    assert enter("ben").get("/desk/members/").status_code == 404


def test_roles_are_changed_on_the_desk(desk: Desk) -> None:
    desk.signed_in("ben", role=Role.STEWARD)
    membership = Membership.objects.get(user__username="ben")
    client = enter()
    assert client.get("/desk/members/")["Location"] == MEMBERS
    client.post(f"{MEMBERS}{membership.pk}/role/", {"role": Role.APPROVER})
    membership.refresh_from_db()
    assert membership.role == Role.APPROVER
    event = Event.objects.filter(kind=EventKind.ROLE, subject="ben").first()
    assert event
    assert (event.who, event.detail) == ("owner", "steward > approver")
    client.post(f"{MEMBERS}{membership.pk}/role/", {"role": "owner"})
    membership.refresh_from_db()
    assert membership.role == Role.APPROVER
    client.post(f"{MEMBERS}{membership.pk}/remove/")
    assert not Membership.objects.filter(pk=membership.pk).exists()


def test_a_stolen_session_cannot_change_members(desk: Desk) -> None:
    # In this session, nobody has entered the password within the last five minutes.
    assert desk.client.get(MEMBERS)["Location"].startswith("/desk/account/confirm/")
    assert invite(desk.client).status_code == 302
    assert not Invitation.objects.exists()
    page = f"http://testserver{MEMBERS}"
    answer = desk.client.post(f"{MEMBERS}second-factor/", headers={"Referer": page})
    confirm = answer["Location"]
    assert desk.client.post(confirm, {"password": PASSWORD})["Location"] == page
    assert desk.client.get(MEMBERS).status_code == 200


def test_an_organisation_keeps_an_administrator(desk: Desk) -> None:
    own = Membership.objects.get(user=desk.user)
    client = enter()
    client.post(f"{MEMBERS}{own.pk}/role/", {"role": Role.STEWARD})
    client.post(f"{MEMBERS}{own.pk}/remove/")
    client.post(f"/desk/account/memberships/{own.pk}/leave/")
    own.refresh_from_db()
    assert own.role == Role.ADMINISTRATOR
    assert "needs an administrator" in client.get("/desk/account/").content.decode()


def test_a_member_leaves_and_their_keys_stop(desk: Desk) -> None:
    ben = desk.signed_in("ben", role=Role.ADMINISTRATOR)
    user = User.objects.get(username="ben")
    _, secret = key_create(
        organisation=desk.organisation, name="nightly", scopes=[Scope.JOBS_READ], created_by=user
    )
    own = Membership.objects.get(user=user)
    assert desk.client.post(f"/desk/account/memberships/{own.pk}/leave/").status_code == 404
    assert key_owner(secret)
    assert "Invented house" in ben.get("/desk/account/").content.decode()
    assert ben.post(f"/desk/account/memberships/{own.pk}/leave/").status_code == 302
    assert not Membership.objects.filter(user=user).exists()
    assert key_owner(secret) is None
    assert ApiKey.objects.exists()
