"""Passkeys with Chromium's virtual authenticator, and single sign-on, in a real browser."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.socialaccount.providers import registry
from allauth.socialaccount.providers.saml.provider import SAMLProvider

from dpgeo.accounts.models import Organisation, Role
from dpgeo.audit.models import Event, EventKind
from tests.browser.opening import Open
from tests.requirements import need
from tests.web.desk import PASSWORD, make_desk

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

MAIN = "main"


def plug_in(page: Any, *, verifies: bool = True) -> tuple[Any, str]:
    """Give a page a virtual authenticator; return a DevTools session and the authenticator's id."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": verifies,
        "isUserVerified": verifies,
        "automaticPresenceSimulation": True,
    }
    added = session.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    return session, added["authenticatorId"]


def enter(page: Any) -> None:
    page.fill("[name=username]", "owner")
    page.fill("[name=password]", PASSWORD)
    page.click("form:has([name=password]) button[type=submit]")


def go(page: Any, path: str) -> None:
    page.goto("/".join(page.url.split("/")[:3]) + path)


def test_a_passkey_is_a_second_factor_and_replaces_the_password(open_page: Open) -> None:
    make_desk()
    Organisation.objects.update(second_factor=Role.STEWARD)
    page = open_page("/accounts/login/", wait=MAIN)
    authenticator = plug_in(page)
    enter(page)
    # The organisation demands a second factor, so this page comes before the desk.
    page.wait_for_url("**/desk/account/second-factor/")
    page.click("text=Add a passkey")
    page.fill("[name=name]", "office laptop")
    page.click("text=Ask my device")
    page.wait_for_selector("ol.recovery")
    assert page.locator("ol.recovery li").count() == 10
    page.click("text=I have kept them")
    page.wait_for_url("**/desk/")
    # Next, sign in with the passkey alone, without the password.
    page.click("text=Sign out")
    go(page, "/accounts/login/")
    page.click("text=Sign in with a passkey")
    page.wait_for_url("**/desk/")
    # Next, sign in with the password, and with the passkey as the second factor.
    page.click("text=Sign out")
    go(page, "/accounts/login/?next=/desk/keys/")
    enter(page)
    page.wait_for_url("**/accounts/second-factor/")
    page.click("text=Use a passkey")
    page.wait_for_url("**/desk/keys/")
    details = Event.objects.filter(kind=EventKind.SIGN_IN).values_list("detail", flat=True)
    assert list(details[:3]) == ["password, webauthn", "webauthn", "password"]
    # Next, a device that does not verify who uses it: its passkey signs nobody in.
    page.click("text=Sign out")
    session, identity = authenticator
    session.send("WebAuthn.clearCredentials", {"authenticatorId": identity})
    go(page, "/accounts/login/")
    page.click("text=Sign in with a passkey")
    page.wait_for_selector("text=No passkey was used")
    assert page.url.endswith("/accounts/login/")


def test_a_passkey_that_was_removed_opens_nothing(open_page: Open) -> None:
    make_desk()
    page = open_page("/accounts/login/", wait=MAIN)
    plug_in(page)
    enter(page)
    page.wait_for_url("**/desk/")
    page.goto(page.url + "account/second-factor/passkey/")
    page.fill("[name=name]", "phone")
    page.click("text=Ask my device")
    page.wait_for_selector("ol.recovery")
    go(page, "/desk/account/second-factor/")
    page.wait_for_selector("td:text-is('phone')")
    page.click("button:has-text('Remove it')")
    page.wait_for_selector("text=The second factor is removed")
    assert not Authenticator.objects.exists()
    page.click("text=Sign out")
    go(page, "/accounts/login/")
    page.click("text=Sign in with a passkey")
    page.wait_for_selector("text=This passkey does not open an account here")


def test_without_scripts_the_pages_offer_no_passkey(open_page: Open) -> None:
    make_desk()
    page = open_page("/accounts/login/", wait=MAIN, java_script_enabled=False)
    assert not page.is_visible("text=Sign in with a passkey")
    enter(page)
    page.goto(page.url + "account/second-factor/passkey/")
    assert page.is_visible("text=Passkeys need scripts")


def test_somebody_signs_in_by_a_provider(
    open_page: Open, live_server: Any, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DPGEO_ORIGIN = live_server.url
    mock = pytest.importorskip("oidc_provider_mock")

    # The provider's page refers to a style sheet on another site, which tests must not request.
    def provider(**options: Any) -> Any:
        app = mock.app(**options)

        def strip(answer: Any) -> Any:
            if answer.mimetype == "text/html":
                page = answer.get_data(as_text=True)
                answer.set_data(page.replace("https://cdn.jsdelivr.net", ""))
            return answer

        app.after_request(strip)
        return app

    monkeypatch.setattr("oidc_provider_mock._server.app", provider)
    from allauth.socialaccount.providers import registry
    from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider

    registry.register(OpenIDConnectProvider)
    make_desk()
    with mock.run_server_in_thread() as running:
        settings.DPGEO_OIDC = [
            {
                "id": "city",
                "name": "City of Vessby",
                "server_url": f"http://localhost:{running.server_port}",
                "client_id": "maps",
                "secret": "words",
                "roles": {"gis": "invented-house:steward"},
                "groups_claim": "groups",
            }
        ]
        claims = '{"groups": ["gis"], "preferred_username": "cleo"}'
        page = open_page("/de/accounts/login/?next=/de/desk/account/", wait=MAIN)
        page.request.put(
            f"http://localhost:{running.server_port}/users/7",
            data=claims,
            headers={"Content-Type": "application/json"},
        )
        page.click("text=Mit City of Vessby anmelden")
        page.wait_for_selector("[name=sub]")
        page.fill("[name=sub]", "7")
        page.click("button[type=submit]")
        page.wait_for_url("**/de/desk/account/")
        assert page.is_visible("text=cleo")


def test_somebody_signs_in_by_saml_and_is_asked_again_where_it_was_refused(
    open_page: Open, live_server: Any, settings: Any
) -> None:
    """Somebody signs in by SAML, and after a refusal can try again on the page that refused.

    The provider's answer is posted from another site, so the browser sends no session with it.
    """
    settings.DPGEO_ORIGIN = live_server.url
    need(importlib.util.find_spec("xmlsec"), "python3-saml: make packages-full")
    from tests.web.identity_provider import running_identity_provider

    registry.register(SAMLProvider)
    make_desk()
    with running_identity_provider() as provider:
        settings.DPGEO_SAML = [provider.facts()]
        provider.people = {
            "p-7": {"groups": ["gis"], "uid": ["cleo"]},
            "p-8": {"groups": ["tennis"], "uid": ["dan"]},
        }
        page = open_page("/de/accounts/login/?next=/de/desk/account/", wait=MAIN)
        for subject, words in (("p-8", "none of your groups"), ("p-7", "cleo")):
            page.click("text=Town of Vessby")
            page.fill("[name=subject]", subject)
            page.click("text=Go on")
            page.click("text=Back to the maps")
            page.wait_for_selector(f"{MAIN} >> text={words}")
            if subject == "p-8":
                go(page, "/de/accounts/login/?next=/de/desk/account/")
        assert page.url.endswith("/de/desk/account/")
        assert [each["name"] for each in page.context.cookies() if "saml" in each["name"]] == []
