"""Single sign-on by OpenID Connect, with another project's provider, which the test starts."""

from __future__ import annotations

import html
import json
import re
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
import requests
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP
from allauth.socialaccount.models import SocialAccount
from allauth.socialaccount.providers import registry
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from django.test import Client

from dpgeo.accounts import single_sign_on
from dpgeo.accounts.fresh_tokens import reset_tokens
from dpgeo.accounts.models import Membership, Role, User
from dpgeo.accounts.providers import ENDPOINTS, check_providers
from dpgeo.accounts.single_sign_on import OneCallback, trusted_account
from dpgeo.audit.models import Event, EventKind
from dpgeo.commands.management.commands import doctor
from tests.web.desk import PASSWORD, Desk
from tests.web.mailbox import deliver

oidc_provider_mock = pytest.importorskip("oidc_provider_mock")

pytestmark = pytest.mark.django_db

BEGIN = "/accounts/oidc/city/"


@dataclass
class Provider:
    """A running provider, and functions by which somebody signs in with it."""

    address: str
    facts: dict[str, Any] = field(default_factory=dict)

    def knows(self, sub: str, **claims: Any) -> None:
        """Add a person who can sign in at the provider, with these claims."""
        body = json.dumps(claims).encode()
        request = urllib.request.Request(  # noqa: S310
            f"{self.address}/users/{sub}",
            data=body,
            method="PUT",
            headers={"Content-Type": "application/json"},
        )
        urllib.request.urlopen(request, timeout=10).close()  # noqa: S310

    def sends_back(self, client: Client, sub: str, begin: str = BEGIN) -> str:
        """Sign in at the provider; return the URL to which it sends the browser back."""
        answer = client.get(begin)
        assert answer.status_code == 302, answer.content
        sent = requests.post(
            answer["Location"], data={"sub": sub}, allow_redirects=False, timeout=10
        )
        return str(sent.headers["Location"])

    def enters(self, sub: str, begin: str = BEGIN) -> tuple[Client, Any]:
        """Sign in to this site by the provider; return the browser and the site's last response."""
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
    # A stranger with the same user name gets another account.
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


def test_an_account_that_is_taken_over_has_no_other_way_in(provider: Provider, desk: Desk) -> None:
    """Whoever knew the old password is shut out, and the account's owner is told."""
    User.objects.update(email="owner@example.org")
    before = Client()
    before.post("/accounts/login/", {"username": "owner", "password": PASSWORD})
    assert before.get("/desk/").status_code == 200
    token = reset_tokens.make_token(desk.user)
    provider.facts["trust_email"] = True
    provider.knows("1", email="owner@example.org", email_verified=True, groups=["gis"])
    client, _ = provider.enters("1")
    assert client.get("/desk/").status_code == 200
    user = User.objects.get()
    assert not user.has_usable_password()
    assert not reset_tokens.check_token(user, token)
    assert before.get("/desk/").status_code == 302
    again = Client().post("/accounts/login/", {"username": "owner", "password": PASSWORD})
    assert again.status_code == 200
    event = Event.objects.get(kind=EventKind.PASSWORD)
    assert (event.who, event.subject, event.detail) == ("single sign-on: city", "owner", "removed")
    (letter,) = deliver()
    assert letter.to == ["owner@example.org"]
    assert "its password no longer works" in letter.body
    provider.enters("1")
    assert len(deliver()) == 1
    assert Event.objects.filter(kind=EventKind.PASSWORD).count() == 1


def test_an_address_does_not_take_over_an_account_with_a_second_factor(
    provider: Provider, desk: Desk
) -> None:
    User.objects.update(email="owner@example.org")
    TOTP.activate(desk.user, "A" * 32)
    provider.facts["trust_email"] = True
    provider.knows("1", email="owner@example.org", email_verified=True, groups=["gis"])
    provider.enters("1")
    assert SocialAccount.objects.get().user != desk.user
    desk.user.refresh_from_db()
    assert desk.user.check_password(PASSWORD)


def test_an_account_with_a_subject_is_not_connected_to_another(
    provider: Provider, desk: Desk
) -> None:
    """An account that one subject of the provider is connected to is not connected to another.

    This holds although both have the same email address: the first subject may have claimed it
    without proof, or the address may have a new owner.
    """
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
    # Somebody who has a second factor here is asked for it even after single sign-on.
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
    assert len(sent["nonce"][0]) >= 16
    assert sent["nonce"] != sent["state"]
    assert set(sent["scope"][0].split()) == {"openid", "profile", "email"}
    # In every language, the provider sends browsers back to the same URL.
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


def test_strangers_cannot_fill_the_audit_list(
    provider: Provider, desk: Desk, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DPGEO_FAILED_SIGN_INS = 3
    # Failures are counted over a time that is longer than the test, so none of them expires.
    monkeypatch.setattr(single_sign_on, "WINDOW", 10**10)
    client = Client(REMOTE_ADDR="198.51.100.1")
    refused = Event.objects.filter(kind=EventKind.SIGN_IN_FAILED)
    for _ in range(4):
        assert client.get(f"{BEGIN}callback/?code=x&state=y").status_code == 403
    provider.facts["server_url"] = "http://127.0.0.1:9"
    assert client.get(BEGIN).status_code == 403
    assert refused.count() == 3
    assert Client(REMOTE_ADDR="198.51.100.2").get(BEGIN).status_code == 403
    assert refused.count() == 4


def test_a_provider_that_says_it_is_another_is_refused(
    provider: Provider, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = {"issuer": "https://other.example.org", **dict.fromkeys(ENDPOINTS, provider.address)}
    monkeypatch.setattr(OpenIDConnectOAuth2Adapter, "openid_config", config)
    assert Client().get(BEGIN).status_code == 403
    config["issuer"] = provider.address
    assert Client().get(BEGIN).status_code == 302


@pytest.mark.parametrize("lacking", ENDPOINTS)
def test_a_provider_that_does_not_say_what_is_needed_is_named_in_the_audit_list(
    provider: Provider, desk: Desk, monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    config = {"issuer": provider.address, **dict.fromkeys(ENDPOINTS, provider.address)}
    del config[lacking]
    monkeypatch.setattr(OpenIDConnectOAuth2Adapter, "openid_config", config)
    answer = Client().get(BEGIN)
    assert answer.status_code == 403
    assert "not set up for signing in here" in answer.content.decode()
    reason = f"single sign-on: the provider's description of itself has no {lacking}"
    assert Event.objects.get(kind=EventKind.SIGN_IN_FAILED).detail == reason
    described = {"issuer": provider.address, **config}
    monkeypatch.setattr(requests.Response, "json", lambda self: described)
    ((state, remedy),) = [(each.state, each.remedy) for each in doctor.check_single_sign_on()]
    assert (state, bool(remedy)) == (f"it names no {lacking}", True)
    monkeypatch.setattr(OpenIDConnectOAuth2Adapter, "openid_config", [])
    assert Client().get(BEGIN).status_code == 403


APP = "/desk/account/second-factor/app/"


def test_an_open_session_at_the_provider_confirms_nothing(
    provider: Provider, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before second factors change, the provider must ask the user for a new proof of identity."""
    provider.knows("7", groups=["gis"], preferred_username="cleo")
    provider.knows("8", groups=["gis"], preferred_username="eve")
    decode = OneCallback._decode_id_token
    proved: dict[str, Any] = {}

    def decoded(self: Any, app: Any, id_token: str) -> Any:
        claims = decode(self, app, id_token)
        claims.pop("auth_time", None)
        return claims | proved

    monkeypatch.setattr(OneCallback, "_decode_id_token", decoded)
    client, _ = provider.enters("7")
    confirm = client.get(APP)["Location"]
    page = client.get(confirm).content.decode()
    begin = html.unescape(re.findall(f'href="({BEGIN}[^"]+)"', page)[0])
    asked = parse_qs(urlsplit(client.get(begin)["Location"]).query)
    assert (asked["prompt"], asked["max_age"]) == (["login"], ["0"])

    def again(sub: str = "7") -> Any:
        back = urlsplit(provider.sends_back(client, sub, begin))
        return client.get(f"{back.path}?{back.query}")

    answer = again()
    assert answer.status_code == 403
    assert "does not say when" in answer.content.decode()
    for moment in (time.time() - 180, time.time() + 3600, "now"):
        proved["auth_time"] = moment
        assert again().status_code == 403
    proved["auth_time"] = time.time()
    assert again("8").status_code == 403
    assert client.get(APP)["Location"] == confirm
    assert again()["Location"] == APP
    assert client.get(APP).status_code == 200
    # A user who has just signed in afresh at the provider need not prove their identity again.
    client, _ = provider.enters("7")
    assert client.get(APP).status_code == 200


@pytest.mark.parametrize(
    "change",
    [{"server_url": "http://id.example.org"}, {"roles": {"gis": "house:owner"}}, {"secret": ""}],
)
def test_settings_that_cannot_work_are_reported(provider: Provider, change: Any) -> None:
    provider.facts |= change
    assert [each.id for each in check_providers()] == ["dpgeo.accounts.E002"]


def test_an_id_token_must_be_signed_by_a_key_of_the_provider(
    provider: Provider, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.knows("7", groups=["gis"], preferred_username="cleo")
    decode = OneCallback._decode_id_token

    def forge(change: Any) -> None:
        def changed(self: Any, app: Any, id_token: str) -> Any:
            return decode(self, app, change(id_token))

        monkeypatch.setattr(OneCallback, "_decode_id_token", changed)

    def signed(key: Any, algorithm: str, **changes: Any) -> Any:
        def change(token: str) -> str:
            claims = jwt.decode(token, options={"verify_signature": False})
            return jwt.encode({**claims, **changes}, key, algorithm=algorithm)

        return change

    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    for change in (
        signed(other, "RS256"),
        signed("words" * 10, "HS256"),
        signed(None, "none"),
        lambda token: token.rpartition(".")[0] + ".",
        lambda token: "nonsense",
    ):
        forge(change)
        assert provider.enters("7")[1].status_code == 403
    assert not User.objects.filter(username="cleo").exists()
    forge(lambda token: token)
    monkeypatch.setitem(provider.facts, "client_id", "maps")
    assert provider.enters("7")[1]["Location"] == "/desk/"
    # The provider's keys do not name an algorithm, and one is of another type than the token's.
    of_curve = ec.generate_private_key(ec.SECP256R1()).public_key()
    mine = [
        json.loads(jwt.algorithms.ECAlgorithm.to_jwk(of_curve)),
        json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(other.public_key())),
    ]
    keys = jwt.PyJWKSet.from_dict({"keys": mine})
    monkeypatch.setattr(jwt.PyJWKSet, "from_dict", lambda *_: keys)
    for algorithm in ("RS256", "RS512", "PS256"):
        forge(signed(other, algorithm))
        assert provider.enters("7")[1]["Location"] == "/desk/"
    # The provider's clock may be a little ahead of this site's.
    now = int(time.time())
    for right in (
        {"iat": now + 30},
        {"aud": ["maps"]},
        {"azp": "maps"},
        {"aud": ["other", "maps"], "azp": "maps"},
    ):
        forge(signed(other, "RS256", **right))
        assert provider.enters("7")[1]["Location"] == "/desk/"
    for wrong in (
        {"aud": "other"},
        {"azp": "other"},
        {"aud": ["other", "maps"]},
        {"aud": ["other", "maps"], "azp": "other"},
        {"iat": now - 3600},
        {"nonce": "x"},
        {"nonce": None},
        {"nonce": ""},
        {"iss": "https://b.example"},
        {"exp": 1},
        {"iat": now + 3600},
        {"sub": "8"},
    ):
        forge(signed(other, "RS256", **wrong))
        assert provider.enters("7")[1].status_code == 403


def test_an_answer_without_an_id_token_is_refused(
    provider: Provider, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    complete = OneCallback.complete_login

    def without(self: Any, *args: Any, response: dict[str, Any]) -> Any:
        return complete(self, *args, response={**response, "id_token": None})

    monkeypatch.setattr(OneCallback, "complete_login", without)
    provider.knows("7", groups=["gis"], preferred_username="cleo")
    assert provider.enters("7")[1].status_code == 403
    assert not User.objects.filter(username="cleo").exists()
