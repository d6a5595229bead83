"""Second factors: authenticator apps, recovery codes, and who needs one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth as totp
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import get_resolver
from django.utils import timezone

from dpgeo.accounts import codes
from dpgeo.accounts.factors import recovery_codes_left
from dpgeo.accounts.models import FailedCode, Organisation, Role, SignedIn, User
from dpgeo.audit.models import Event, EventKind
from tests.web.desk import PASSWORD, Desk, make_desk

pytestmark = pytest.mark.django_db

FACTORS, APP = "/desk/account/second-factor/", "/desk/account/second-factor/app/"
PROVE, LOGIN = "/accounts/second-factor/", "/accounts/login/"


class Clock:
    """The clock that the check of codes reads; tests can set it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.step = 50_000_000
        # The first second of a time step: a code of the step before is then a second too old.
        seconds = SimpleNamespace(time=lambda: float(self.step * 30))
        monkeypatch.setattr(totp, "time", seconds)

    def code(self, secret: str, *, step: int | None = None) -> str:
        """Return the code that an app shows for the current time step, or for another step."""
        wanted = self.step if step is None else step
        return str(totp.format_hotp_value(totp.hotp_value(secret, wanted)))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def enter(name: str = "owner", door: str = LOGIN, address: str = "192.0.2.1") -> tuple[Client, Any]:
    """Sign in with the right password at the URL `door`; return the browser and the response."""
    client = Client(REMOTE_ADDR=address)
    return client, client.post(door, {"username": name, "password": PASSWORD})


def set_up(client: Client, clock: Clock) -> tuple[str, list[str]]:
    """Add an authenticator app for a browser's user; return its secret and the recovery codes."""
    page = client.get(APP).content.decode()
    shown = re.search(r"<code>([A-Z2-7 ]+)</code>", page)
    assert shown, page
    secret = shown[1].replace(" ", "")
    answer = client.post(APP, {"code": clock.code(secret)})
    assert answer.status_code == 200, answer.content.decode()
    clock.step += 1
    return secret, re.findall(r"<li><code>(\d{4} \d{4})</code>", answer.content.decode())


@pytest.fixture
def protected(desk: Desk, clock: Clock) -> tuple[str, list[str]]:
    """Add an authenticator app to the owner's account; return its secret and the recovery codes."""
    client, _ = enter()
    return set_up(client, clock)


def test_a_password_alone_does_not_open_a_protected_account(
    protected: tuple[str, list[str]], clock: Clock
) -> None:
    client, answer = enter()
    assert answer["Location"] == PROVE
    assert client.get("/desk/").status_code == 302
    assert client.get("/api/v1/budgets").status_code == 401
    assert client.post(PROVE, {"code": clock.code(protected[0])})["Location"] == "/desk/"
    assert client.get("/desk/").status_code == 200
    assert SignedIn.objects.filter(session_key=client.session.session_key).exists()


def test_a_code_works_once_and_never_an_older_one(
    protected: tuple[str, list[str]], clock: Clock
) -> None:
    secret = protected[0]
    code = clock.code(secret)
    assert enter()[0].post(PROVE, {"code": code}).status_code == 302
    other, _ = enter()
    for used in (code, clock.code(secret, step=clock.step - 1)):
        assert other.post(PROVE, {"code": used}).status_code == 422
    assert other.post(PROVE, {"code": clock.code(secret, step=clock.step + 1)}).status_code == 302


def test_a_code_that_was_typed_at_the_end_of_its_half_minute_is_accepted(
    protected: tuple[str, list[str]], clock: Clock
) -> None:
    clock.step += 5
    client, _ = enter()
    for early_or_late in (-2, 2):
        code = clock.code(protected[0], step=clock.step + early_or_late)
        assert client.post(PROVE, {"code": code}).status_code == 422
    code = clock.code(protected[0], step=clock.step - 1)
    assert client.post(PROVE, {"code": code})["Location"] == "/desk/"


def test_each_recovery_code_works_once(protected: tuple[str, list[str]], desk: Desk) -> None:
    _, recovery = protected
    assert len(recovery) == 10
    assert enter()[0].post(PROVE, {"code": recovery[3]}).status_code == 302
    assert enter()[0].post(PROVE, {"code": recovery[3]}).status_code == 422
    assert enter()[0].post(PROVE, {"code": recovery[4].replace(" ", "")}).status_code == 302
    assert recovery_codes_left(desk.user) == 8


def test_codes_cannot_be_guessed(
    protected: tuple[str, list[str]], clock: Clock, desk: Desk
) -> None:
    wrong = "abc"
    for number in range(codes.A_WINDOW):
        # Each guess comes from another network and another session.
        client, _ = enter(address=f"198.51.{number}.9")
        assert client.post(PROVE, {"code": wrong}).status_code == 422
    client, _ = enter()
    assert client.post(PROVE, {"code": clock.code(protected[0])}).status_code == 429
    assert client.post(PROVE, {"code": protected[1][0]}).status_code == 429
    kinds = Event.objects.filter(detail="second factor").values_list("kind", flat=True)
    assert list(kinds).count(EventKind.SIGN_IN_FAILED) == codes.A_WINDOW
    assert EventKind.LOCKED_OUT in kinds
    FailedCode.objects.update(at=timezone.now() - codes.WINDOW)
    assert client.post(PROVE, {"code": clock.code(protected[0])}).status_code == 302


def test_a_day_has_a_limit_of_its_own(
    protected: tuple[str, list[str]], clock: Clock, desk: Desk
) -> None:
    earlier = timezone.now() - timedelta(hours=1)
    FailedCode.objects.bulk_create(
        FailedCode(user=desk.user, at=earlier) for _ in range(codes.A_DAY)
    )
    client, _ = enter()
    assert client.post(PROVE, {"code": clock.code(protected[0])}).status_code == 429
    FailedCode.objects.update(at=timezone.now() - codes.DAY)
    assert client.post(PROVE, {"code": clock.code(protected[0])}).status_code == 302
    assert not FailedCode.objects.exists()


def test_the_code_page_opens_to_nobody_without_the_password(
    protected: tuple[str, list[str]], clock: Clock
) -> None:
    stranger = Client()
    assert stranger.get(PROVE)["Location"] == LOGIN
    assert stranger.post(PROVE, {"code": clock.code(protected[0])})["Location"] == LOGIN
    client, _ = enter()
    User.objects.update(is_active=False)
    assert client.post(PROVE, {"code": clock.code(protected[0])})["Location"] == LOGIN
    assert client.get("/desk/").status_code == 302


def test_the_secret_is_not_readable_in_the_database(
    protected: tuple[str, list[str]], settings: Any, clock: Clock
) -> None:
    stored = str(list(Authenticator.objects.values_list("data", flat=True)))
    assert protected[0] not in stored
    former = settings.SECRET_KEY
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another", [former]
    client, _ = enter()
    assert client.post(PROVE, {"code": clock.code(protected[0])}).status_code == 302
    settings.SECRET_KEY_FALLBACKS = []
    clock.step += 1
    client, _ = enter()
    assert client.post(PROVE, {"code": clock.code(protected[0])}).status_code == 422


def test_a_first_factor_ends_all_other_sessions(desk: Desk, clock: Clock) -> None:
    here, elsewhere = enter()[0], enter(address="198.51.100.9")[0]
    set_up(here, clock)
    assert here.get("/desk/").status_code == 200
    assert elsewhere.get("/desk/").status_code == 302
    assert elsewhere.get(LOGIN).status_code == 200
    # A session that was made without the sign-in page counts as not signed in, too.
    assert desk.client.get("/desk/").status_code == 302


def test_a_session_that_began_in_anothers_is_listed_and_ends(desk: Desk, clock: Clock) -> None:
    """A session that began by signing in over another account's session is listed and can be ended.

    Django replaces the other account's session, so the new one has no key yet when it is listed.
    """
    User.objects.filter(pk=desk.user.pk).update(is_staff=True)
    User.objects.create_user("eve", password=PASSWORD)
    client, _ = enter("eve")
    form = {"username": "owner", "password": PASSWORD, "next": "/desk/"}
    assert client.post("/admin/login/", form)["Location"] == "/desk/"
    assert SignedIn.objects.filter(session_key=client.session.session_key).exists()
    set_up(enter()[0], clock)
    assert client.get(FACTORS).status_code == 302


def test_a_session_without_the_factor_changes_none(desk: Desk, clock: Clock) -> None:
    """A session that has not proved the second factor can neither add nor remove factors.

    Setting up the first factor ends all earlier sessions; here, one of them is left over.
    """
    client, _ = enter()
    # The session is not in the list of sessions, so setting up a factor in another session does
    # not end it.
    SignedIn.objects.all().delete()
    set_up(enter(address="198.51.100.9")[0], clock)
    factor = Authenticator.objects.get(type=Authenticator.Type.TOTP)
    for page in (FACTORS, APP, f"{FACTORS}passkey/", "/desk/account/confirm/"):
        assert client.get(page)["Location"].startswith(LOGIN), page
    assert client.post(f"{FACTORS}{factor.pk}/remove/")["Location"].startswith(LOGIN)
    assert Authenticator.objects.filter(pk=factor.pk).exists()


def test_a_stolen_session_cannot_change_the_factors(
    protected: tuple[str, list[str]], clock: Clock, desk: Desk
) -> None:
    client, _ = enter()
    client.post(PROVE, {"code": clock.code(protected[0])})
    session = client.session
    for record in session["account_authentication_methods"]:
        record["at"] -= 301
    session.save()
    factor = Authenticator.objects.get(type="totp")
    removal = f"{FACTORS}{factor.pk}/remove/"
    for address in (removal, f"{FACTORS}recovery-codes/"):
        assert client.post(address)["Location"].startswith("/desk/account/confirm/")
    assert client.get(APP)["Location"].startswith("/desk/account/confirm/")
    assert Authenticator.objects.count() == 2
    confirm = "/desk/account/confirm/?next=https://example.org/"
    assert client.post(confirm, {"password": "wrong"}).status_code == 422
    assert client.post(confirm, {"password": PASSWORD})["Location"] == FACTORS
    assert client.post(removal).status_code == 302
    assert not Authenticator.objects.exists()
    details = Event.objects.filter(kind=EventKind.FACTOR).values_list("detail", flat=True)
    assert "authenticator app removed" in details


def test_without_a_password_a_code_confirms(
    protected: tuple[str, list[str]], clock: Clock, desk: Desk
) -> None:
    client, _ = enter()
    client.post(PROVE, {"code": clock.code(protected[0])})
    User.objects.update(password=make_password(None))
    client.force_login(User.objects.get())
    session = client.session
    session["account_authentication_methods"] = [{"method": "mfa", "at": 0}]
    session["account_authentication_methods_user"] = str(desk.user.pk)
    session.save()
    clock.step += 1
    assert client.get(APP).status_code == 302
    answer = client.post("/desk/account/confirm/", {"code": clock.code(protected[0])})
    assert answer["Location"] == FACTORS


def test_factors_of_others_cannot_be_removed(protected: tuple[str, list[str]], desk: Desk) -> None:
    make_desk("Other house", "stranger")
    client, _ = enter("stranger")
    factor = Authenticator.objects.get(type="totp")
    assert client.post(f"{FACTORS}{factor.pk}/remove/").status_code == 404
    assert Authenticator.objects.filter(pk=factor.pk).exists()


@pytest.mark.parametrize(
    ("demanded", "needs"),
    [
        ("", []),
        (Role.ADMINISTRATOR, [Role.ADMINISTRATOR]),
        (Role.APPROVER, [Role.APPROVER, Role.ADMINISTRATOR]),
        (Role.STEWARD, list(Role)),
    ],
)
@pytest.mark.parametrize("everywhere", [False, True])
def test_a_factor_is_demanded_from_a_role_on(
    desk: Desk, settings: Any, demanded: str, needs: list[Role], everywhere: bool
) -> None:
    if everywhere:
        settings.DPGEO_SECOND_FACTOR = str(demanded)
    else:
        Organisation.objects.update(second_factor=demanded)
    for role in Role:
        client = desk.signed_in(role, role=role)
        assert client.get("/desk/").status_code == (302 if role in needs else 200)
        assert client.get("/api/v1/budgets").status_code == (401 if role in needs else 200)


def test_a_demanded_factor_is_set_up_before_anything_else(desk: Desk, clock: Clock) -> None:
    Organisation.objects.update(second_factor=Role.STEWARD)
    client, answer = enter()
    assert answer["Location"] == "/desk/"
    assert client.get("/desk/")["Location"].startswith(LOGIN)
    assert client.get(LOGIN)["Location"] == FACTORS
    assert "Set one up to go on" in client.get(FACTORS).content.decode()
    set_up(client, clock)
    assert client.get("/desk/").status_code == 200
    factor = Authenticator.objects.get(type="totp")
    client.post(f"{FACTORS}{factor.pk}/remove/")
    assert Authenticator.objects.filter(pk=factor.pk).exists()


def test_the_administration_demands_the_factor(clock: Clock, desk: Desk, settings: Any) -> None:
    User.objects.create_superuser("ann", "ann@example.org", PASSWORD)
    client, answer = enter("ann", "/admin/login/?next=/admin/accounts/user/")
    assert answer["Location"] == "/admin/accounts/user/"
    assert client.get("/admin/").status_code == 200
    settings.DPGEO_SECOND_FACTOR = "staff"
    assert client.get("/admin/").status_code == 302
    settings.DPGEO_SECOND_FACTOR = ""
    secret, _ = set_up(client, clock)
    client, answer = enter("ann", "/admin/login/?next=/admin/accounts/user/")
    assert answer["Location"] == PROVE
    assert client.get("/admin/").status_code == 302
    answer = client.post(PROVE, {"code": clock.code(secret)})
    assert answer["Location"] == "/admin/accounts/user/"
    assert client.get("/admin/").status_code == 200
    # The admin has no pages in which second factors could be edited.
    assert client.get("/admin/mfa/authenticator/").status_code == 404
    settings.DPGEO_SECOND_FACTOR = "staff"
    assert desk.client.get("/desk/").status_code == 200


def test_superusers_remove_factors_that_somebody_lost(
    protected: tuple[str, list[str]], desk: Desk
) -> None:
    client, _ = enter()
    client.post(PROVE, {"code": protected[1][0]})
    staff = User.objects.create_user("bob", password=PASSWORD, is_staff=True)
    staff.user_permissions.set(Permission.objects.filter(content_type__model="user"))
    User.objects.create_superuser("ann", "ann@example.org", PASSWORD)
    form = {"action": "remove_factors", "_selected_action": [desk.user.pk]}
    for name, removed in (("bob", False), ("ann", True)):
        administrator, _ = enter(name, "/admin/login/")
        administrator.post("/admin/accounts/user/", form)
        assert Authenticator.objects.exists() != removed
    assert client.get("/desk/").status_code == 302
    assert enter()[1]["Location"] == "/desk/"
    event = Event.objects.filter(detail="authenticator app removed").get()
    assert (event.who, event.subject) == ("ann", "owner")


def test_no_view_of_allauth_has_an_address() -> None:
    def views(resolver: Any) -> Iterator[Any]:
        for each in resolver.url_patterns:
            yield from views(each) if hasattr(each, "url_patterns") else [each.callback]

    modules = {each.__module__ for each in views(get_resolver())}
    assert len(modules) > 30
    assert not [each for each in modules if each.startswith("allauth.")]
