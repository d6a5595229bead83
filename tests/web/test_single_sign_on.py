"""Single sign-on by OpenID Connect, against a provider by others that runs during the test."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP
from allauth.socialaccount.models import SocialAccount
from allauth.socialaccount.providers import registry
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.test import Client

from dpgeo.accounts.models import Membership, Role, User
from dpgeo.accounts.providers import check_providers
from dpgeo.accounts.single_sign_on import trusted_account
from dpgeo.audit.models import Event, EventKind
from tests.web.desk import PASSWORD, Desk, make_desk

oidc_provider_mock = pytest.importorskip("oidc_provider_mock")

pytestmark = pytest.mark.django_db

BEGIN = "/accounts/oidc/city/"


@dataclass
class Provider:
    """A running provider, and how this site is set up to use it."""

    address: str
    facts: dict[str, Any] = field(default_factory=dict)

    def knows(self, sub: str, **claims: Any) -> None:
        """Let the provider know somebody."""
        body = json.dumps(claims).encode()
        request = urllib.request.Request(  # noqa: S310
            f"{self.address}/users/{sub}",
            data=body,
            method="PUT",
            headers={"Content-Type": "application/json"},
        )
        urllib.request.urlopen(request, timeout=10).close()  # noqa: S310

    def sends_back(self, client: Client, sub: str, begin: str = BEGIN) -> str:
        """Sign in at the provider; return the address to which it sends the browser back."""
        answer = client.get(begin)
        assert answer.status_code == 302, answer.content
        sent = requests.post(
            answer["Location"], data={"sub": sub}, allow_redirects=False, timeout=10
        )
        return str(sent.headers["Location"])

    def enters(self, sub: str, begin: str = BEGIN) -> tuple[Client, Any]:
        """Sign in here by the provider; return the browser and this site's answer."""
        client = Client(REMOTE_ADDR="192.0.2.1")
        back = urlsplit(self.sends_back(client, sub, begin))
        return client, client.get(f"{back.path}?{back.query}")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with oidc_provider_mock.run_server_in_thread() as running:
        yield f"http://localhost:{running.server_port}"


@pytest.fixture
def provider(server: str, settings: Any) -> Provider:
    facts = {
        "id": "city",
        "name": "City of Vessby",
        "server_url": server,
        "client_id": "maps",
        "secret": "words",
        "roles": {"gis": "invented-house:steward", "heads": ["invented-house:approver"]},
    }
    settings.DPGEO_OIDC = [facts]
    registry.register(OpenIDConnectProvider)
    assert check_providers() == []
    return Provider(server, facts)


@pytest.fixture
def desk() -> Desk:
    return make_desk()


def roles(user: User) -> list[str]:
    return list(Membership.objects.filter(user=user).values_list("role", flat=True))


def test_groups_give_roles_at_each_sign_in(provider: Provider, desk: Desk) -> None:
    name = {"preferred_username": "cleo", "name": "Cleo Example", "email": "cleo@example.org"}
    provider.knows("7", groups=["gis", "tennis"], **name)
    client, answer = provider.enters("7")
    assert answer["Location"] == "/desk/"
    assert client.get("/desk/").status_code == 200
    user = User.objects.get(username="cleo")
    assert (user.first_name, user.email) == ("Cleo", "cleo@example.org")
    assert not user.has_usable_password()
    assert roles(user) == [Role.STEWARD]
    provider.knows("7", groups=["gis", "heads"], **name)
    provider.enters("7")
    assert roles(user) == [Role.APPROVER]
    provider.knows("7", groups=[], **name)
    client, answer = provider.enters("7")
    assert roles(user) == []
    assert User.objects.filter(username__startswith="cleo").count() == 1
    assert SocialAccount.objects.get().extra_data == {}
    assert Event.objects.filter(kind=EventKind.SIGN_IN, who="cleo", detail="city").count() == 3
    changes = Event.objects.filter(kind=EventKind.ROLE, subject="cleo").values_list(
        "detail", flat=True
    )
    assert set(changes) == {"steward", "steward > approver", "approver > none"}


def test_whoever_has_no_role_gets_no_account(provider: Provider, desk: Desk) -> None:
    provider.knows("8", groups=["tennis"], preferred_username="dan")
    client, answer = provider.enters("8")
    assert answer.status_code == 403
    assert "none of your groups" in answer.content.decode()
    assert not User.objects.filter(username="dan").exists()
    assert client.get("/desk/").status_code == 302
    provider.knows("9", preferred_username="dan", groups="gis")
    assert provider.enters("9")[1]["Location"] == "/desk/"


def test_an_existing_account_is_connected_only_by_a_trusted_address(
    provider: Provider, desk: Desk
) -> None:
    User.objects.update(email="owner@example.org")
    claims = {"email": "Owner@example.org", "groups": ["gis"], "preferred_username": "owner"}
    provider.knows("1", email_verified=True, **claims)
    provider.enters("1")
    assert not SocialAccount.objects.filter(user=desk.user).exists()
    # A stranger who has the same name gets an account of their own.
    assert User.objects.exclude(pk=desk.user.pk).get().username != "owner"
    User.objects.exclude(pk=desk.user.pk).delete()
    provider.facts["trust_email"] = True
    provider.knows("2", email_verified=False, **claims)
    provider.enters("2")
    assert not SocialAccount.objects.filter(user=desk.user).exists()
    User.objects.exclude(pk=desk.user.pk).delete()
    User.objects.update(is_staff=True)
    provider.enters("1")
    assert not SocialAccount.objects.filter(user=desk.user).exists()
    User.objects.exclude(pk=desk.user.pk).delete()
    User.objects.update(is_staff=False)
    client, _ = provider.enters("1")
    assert SocialAccount.objects.get().user == desk.user
    assert client.get("/desk/").status_code == 200
    assert User.objects.get().check_password(PASSWORD)


def test_an_account_with_a_subject_is_not_connected_to_another(
    provider: Provider, desk: Desk
) -> None:
    """Neither by an address claimed beforehand without proof, nor by one that was handed on."""
    provider.facts["trust_email"] = True
    claims = {"email": "eve@example.org", "groups": ["gis"]}
    provider.knows("21", email_verified=False, **claims)
    provider.enters("21")
    provider.knows("22", email_verified=True, **claims)
    provider.enters("22")
    first, second = SocialAccount.objects.order_by("uid")
    assert first.user != second.user
    User.objects.filter(pk=desk.user.pk).update(email="owner@example.org")
    for sub in ("23", "24"):
        provider.knows(sub, email="owner@example.org", email_verified=True, groups=["gis"])
        provider.enters(sub)
    assert SocialAccount.objects.get(user=desk.user).uid == "23"


def test_an_address_with_other_letters_is_another_one(provider: Provider, desk: Desk) -> None:
    User.objects.filter(pk=desk.user.pk).update(email="owner@site.example.org")
    provider.facts["trust_email"] = True
    similar = {"email": "owner@s\u0131te.example.org", "email_verified": True}
    assert trusted_account(provider.facts, similar) is None
    assert trusted_account(provider.facts, {**similar, "email": ["owner@site.example.org"]}) is None
    similar["email"] = "Owner@site.example.org"
    assert trusted_account(provider.facts, similar) == desk.user


def test_an_inactive_account_is_not_opened(provider: Provider, desk: Desk) -> None:
    provider.knows("25", groups=["gis"], preferred_username="fay")
    provider.enters("25")
    User.objects.filter(username="fay").update(is_active=False)
    client, answer = provider.enters("25")
    assert answer.status_code == 403
    assert client.get("/desk/").status_code == 302


def test_a_second_factor_is_asked_for_unless_the_provider_does(
    provider: Provider, desk: Desk
) -> None:
    desk.organisation.second_factor = Role.STEWARD
    desk.organisation.save()
    provider.knows("7", groups=["gis"], preferred_username="cleo")
    client, _ = provider.enters("7")
    assert client.get("/desk/").status_code == 302
    assert client.get("/accounts/login/")["Location"] == "/desk/account/second-factor/"
    provider.facts["second_factor"] = True
    client, _ = provider.enters("7")
    assert client.get("/desk/").status_code == 200
    # Somebody with a factor of their own is asked for it all the same.
    TOTP.activate(User.objects.get(username="cleo"), "A" * 32)
    client, answer = provider.enters("7")
    assert answer["Location"] == "/accounts/second-factor/"
    assert client.get("/desk/").status_code == 302
    assert Authenticator.objects.count() == 1


def test_an_answer_serves_the_browser_that_asked_and_only_once(
    provider: Provider, desk: Desk
) -> None:
    provider.knows("7", groups=["gis"], preferred_username="cleo")
    client = Client()
    back = urlsplit(provider.sends_back(client, "7"))
    address = f"{back.path}?{back.query}"
    assert Client().get(address).status_code == 403
    assert client.get(address).status_code == 302
    assert client.get(address).status_code == 403
    assert Event.objects.filter(kind=EventKind.SIGN_IN_FAILED).count() == 2


def test_the_request_is_bound_to_state_and_challenge(provider: Provider, desk: Desk) -> None:
    client = Client()
    sent = parse_qs(
        urlsplit(client.get(f"/de{BEGIN}?scope=admin&process=connect")["Location"]).query
    )
    assert sent["code_challenge_method"] == ["S256"]
    assert len(sent["state"][0]) >= 16
    assert set(sent["scope"][0].split()) == {"openid", "profile", "email"}
    # One address to come back to, in every language.
    assert sent["redirect_uri"] == [f"http://testserver{BEGIN}callback/"]


def test_the_page_that_was_asked_for_opens_but_no_other_site(
    provider: Provider, desk: Desk
) -> None:
    provider.knows("7", groups=["gis"], preferred_username="cleo")
    assert provider.enters("7", f"{BEGIN}?next=/desk/keys/")[1]["Location"] == "/desk/keys/"
    assert provider.enters("7", f"{BEGIN}?next=https://example.org/")[1]["Location"] == "/desk/"
    page = Client().get("/accounts/login/?next=/desk/keys/").content.decode()
    assert f"{BEGIN}?next=/desk/keys/" in page
    assert "Sign in with City of Vessby" in page


def test_a_provider_that_does_not_answer_signs_nobody_in(provider: Provider, desk: Desk) -> None:
    provider.facts["server_url"] = "http://127.0.0.1:9"
    answer = Client().get(BEGIN)
    assert answer.status_code == 403
    assert "did not confirm" in answer.content.decode()
    assert Client().get("/accounts/oidc/other/").status_code == 404
    assert Client().get("/accounts/oidc/other/callback/").status_code == 404


def test_a_provider_that_says_it_is_another_is_refused(
    provider: Provider, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("authorization_endpoint", "token_endpoint")
    config = {"issuer": "https://other.example.org", **dict.fromkeys(names, provider.address)}
    monkeypatch.setattr(OpenIDConnectOAuth2Adapter, "openid_config", config)
    assert Client().get(BEGIN).status_code == 403
    config["issuer"] = provider.address
    assert Client().get(BEGIN).status_code == 302


@pytest.mark.parametrize(
    "change",
    [{"server_url": "http://id.example.org"}, {"roles": {"gis": "house:owner"}}, {"secret": ""}],
)
def test_settings_that_cannot_work_are_reported(provider: Provider, change: Any) -> None:
    provider.facts |= change
    assert [each.id for each in check_providers()] == ["dpgeo.accounts.E002"]
