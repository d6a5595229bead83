"""Single sign-on by SAML, with a provider that runs during the test, and with forged answers."""

from __future__ import annotations

import base64
import copy
import html
import importlib.util
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
import requests
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP
from allauth.socialaccount.models import SocialAccount
from allauth.socialaccount.providers import registry
from allauth.socialaccount.providers.saml.provider import SAMLProvider
from django.core import signing
from django.test import Client
from django.utils import timezone

from dpgeo.accounts.models import Membership, Role, UsedAssertion, User
from dpgeo.accounts.providers import check_providers
from dpgeo.audit.models import Event, EventKind
from tests.requirements import need
from tests.web.desk import Desk

need(importlib.util.find_spec("xmlsec"), "python3-saml: make packages-full")

import xmlsec  # noqa: E402
from lxml import etree  # noqa: E402

from tests.web.identity_provider import (  # noqa: E402
    DS,
    NAMES,
    Answer,
    IdentityProvider,
    Lie,
    assertion_of,
    make_key,
    packed,
    running_identity_provider,
    sign,
)

pytestmark = pytest.mark.django_db

BEGIN, ANSWER = "/accounts/saml/town/", "/accounts/saml/town/answer/"


@pytest.fixture(scope="module")
def server() -> Iterator[IdentityProvider]:
    with running_identity_provider() as provider:
        yield provider


@pytest.fixture
def facts(server: IdentityProvider, settings: Any) -> dict[str, Any]:
    facts = server.facts()
    settings.DPGEO_SAML = [facts]
    registry.register(SAMLProvider)
    server.people = {
        "p-7": {
            "groups": ["gis", "tennis"],
            "mail": ["cleo@example.org"],
            "displayName": ["Cleo Example"],
            "uid": ["cleo"],
        }
    }
    assert check_providers() == []
    return facts


class Visitor:
    """A person's browser, which the site has sent to the provider to sign in."""

    def __init__(self, server: IdentityProvider, begin: str = BEGIN) -> None:
        self.client = Client(REMOTE_ADDR="192.0.2.1")
        self.server = server
        sent = self.client.get(begin)
        assert sent.status_code == 302, sent.content
        self.address = sent["Location"]
        self.asked = server.asked(self.address)

    def answer(self, lie: Lie | None = None, subject: str = "p-7") -> Answer:
        """Return the provider's answer about `subject`; the function `lie` may change the
        answer.
        """
        answer = self.server.answer(self.asked, subject)
        if lie:
            lie(answer)
        return answer

    def posts(self, response: Any, address: str = ANSWER) -> Any:
        """Post an answer to the site as the provider's page does; return the response after
        redirects.

        The browser sends no session cookie with it.
        """
        # With SameSite=Lax, browsers do not send this site's session with a POST from another site,
        # so a client without cookies posts.
        poster = Client(REMOTE_ADDR="192.0.2.1", enforce_csrf_checks=True)
        body = f"SAMLResponse={_quoted(packed(response))}&RelayState={self.asked.ticket}"
        got = poster.post(address, body, content_type=FORM)
        if got.status_code != 302:
            return got
        self.client.cookies.update(poster.cookies)
        return self.client.get(got["Location"])

    def enters(self, lie: Lie | None = None, subject: str = "p-7") -> Any:
        """Post the provider's signed answer, changed by `lie`, if any; return the site's last
        reply.
        """
        return self.posts(self.server.signed(self.answer(lie, subject)))

    def is_in(self) -> bool:
        return self.client.get("/desk/").status_code == 200


FORM = "application/x-www-form-urlencoded"


def _quoted(text: str) -> str:
    return text.replace("+", "%2B").replace("/", "%2F").replace("=", "%3D")


def why() -> str:
    """Return the reason of the last refusal from the audit list."""
    return Event.objects.filter(kind=EventKind.SIGN_IN_FAILED)[0].detail


def roles(user: User) -> list[str]:
    return list(Membership.objects.filter(user=user).values_list("role", flat=True))


def test_the_whole_way_by_the_providers_pages(
    server: IdentityProvider, facts: Any, desk: Desk
) -> None:
    visitor = Visitor(server, f"{BEGIN}?next=/desk/keys/")
    assert visitor.address.startswith(facts["sso_url"])
    page = requests.post(visitor.address, data={"subject": "p-7"}, timeout=10).text
    assert 'action="http://testserver/accounts/saml/town/answer/"' in page
    answer, _ = re.findall('value="([^"]+)"', page)
    assert visitor.posts(base64.b64decode(answer))["Location"] == "/desk/keys/"
    user = User.objects.get(username="cleo")
    assert (user.first_name, user.last_name, user.email) == ("Cleo", "Example", "cleo@example.org")
    assert not user.has_usable_password()
    account = SocialAccount.objects.get()
    assert (account.provider, account.uid, account.extra_data) == ("town", "p-7", {})
    assert Event.objects.get(kind=EventKind.SIGN_IN, who="cleo").detail == "town"
    # The account and its role were created by the sign-in, so the audit list names the provider,
    # not another account, as the one who acted.
    for kind in (EventKind.ACCOUNT, EventKind.ROLE):
        assert Event.objects.get(kind=kind, subject="cleo").who == "single sign-on: town"
    login = Client().get("/accounts/login/?next=/desk/keys/").content.decode()
    assert f"{BEGIN}?next=/desk/keys/" in login
    assert "Sign in with Town of Vessby" in login


def test_groups_give_roles_at_each_sign_in(
    server: IdentityProvider, facts: Any, desk: Desk
) -> None:
    person = dict(server.people["p-7"])
    visitor = Visitor(server)
    assert visitor.enters()["Location"] == "/desk/"
    assert visitor.is_in()
    user = User.objects.get(username="cleo")
    assert roles(user) == [Role.STEWARD]
    server.people["p-7"] = {**person, "groups": ["gis", "heads"]}
    Visitor(server).enters()
    assert roles(user) == [Role.APPROVER]
    server.people["p-7"] = {"uid": ["cleo"]}
    Visitor(server).enters()
    assert roles(user) == []
    server.people["p-8"] = {"groups": ["tennis"], "uid": ["dan"]}
    stranger = Visitor(server)
    assert "none of your groups" in stranger.enters(subject="p-8").content.decode()
    assert why() == "single sign-on: no role, or not active"
    assert not stranger.is_in()
    assert set(User.objects.values_list("username", flat=True)) == {"owner", "cleo"}


def _by_mail(answer: Answer) -> None:
    answer.name_format = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress"


def test_an_existing_account_is_connected_only_where_addresses_are_trusted(
    server: IdentityProvider, facts: Any, desk: Desk
) -> None:
    User.objects.update(email="cleo@example.org")
    Visitor(server).enters()
    assert not SocialAccount.objects.filter(user=desk.user).exists()
    User.objects.exclude(pk=desk.user.pk).delete()
    facts["trust_email"] = True
    Visitor(server).enters()
    assert SocialAccount.objects.get().user == desk.user


def test_a_second_factor_is_asked_for_unless_the_provider_does(
    server: IdentityProvider, facts: Any, desk: Desk, settings: Any
) -> None:
    desk.organisation.second_factor = Role.STEWARD
    desk.organisation.save()
    visitor = Visitor(server)
    visitor.enters()
    assert not visitor.is_in()
    facts["second_factor"] = True
    visitor = Visitor(server)
    visitor.enters()
    assert visitor.is_in()
    # Two providers are configured; after the second factor, the sign-in must go on with the
    # provider that began it.
    settings.DPGEO_SAML = [{**facts, "id": "other"}, facts]
    secret = "A" * 32
    TOTP.activate(User.objects.get(username="cleo"), secret)
    visitor = Visitor(server)
    assert visitor.enters()["Location"] == "/accounts/second-factor/"
    assert not visitor.is_in()
    code = _code(secret)
    assert visitor.client.post("/accounts/second-factor/", {"code": code})["Location"] == "/desk/"
    assert visitor.is_in()
    assert Authenticator.objects.count() == 1


def _code(secret: str) -> str:
    from allauth.mfa.totp.internal import auth as totp

    step = next(iter(totp.yield_hotp_counters_from_time()))
    return str(totp.format_hotp_value(totp.hotp_value(secret, step)))


def says(**changes: Any) -> Lie:
    """Return a function, called a lie, that sets these fields of a SAML answer to false values."""

    def lie(answer: Answer) -> None:
        for name, value in changes.items():
            setattr(answer, name, value)

    return lie


def answers(request: str | None) -> Lie:
    """Return a lie: a function that makes an answer name `request`, or, if None, no request."""
    return says(in_response_to=request, confirmed_in_response_to=request)


HERE = f"http://testserver{ANSWER}"

LIES: dict[str, tuple[Lie, str]] = {
    "expired": (says(minutes=-10), "assertion expired"),
    "not yet valid": (says(begins=30), "assertion too early"),
    "another audience": (says(audience="https://b.example"), "wrong audience"),
    "no audience": (says(audience=None), "wrong audience"),
    "another recipient": (says(recipient=f"{HERE}more/"), "wrong subjectconfirmation"),
    "another destination": (says(destination=f"{HERE}more/"), "wrong destination"),
    "another issuer": (says(issuer="https://b.example"), "wrong issuer"),
    "a request nobody made": (answers("_x"), "this browser had not asked"),
    "for another request": (says(confirmed_in_response_to="_x"), "wrong subjectconfirmation"),
    "for any request": (says(confirmed_in_response_to=None), "wrong subjectconfirmation"),
    "nobody asked": (answers(None), "nobody had asked"),
    "a name that is handed out again": (_by_mail, "no persistent name of the subject"),
    "too long a name": (says(subject="x" * 192), "no persistent name of the subject"),
}


@pytest.mark.parametrize("lie", LIES)
def test_an_answer_that_does_not_fit_is_refused(
    server: IdentityProvider, facts: Any, desk: Desk, lie: str
) -> None:
    change, reason = LIES[lie]
    visitor = Visitor(server)
    answer = visitor.enters(change)
    assert answer.status_code == 403
    assert "did not confirm" in answer.content.decode()
    assert why() == f"single sign-on: {reason}"
    assert not visitor.is_in()
    assert User.objects.count() == 1


def test_an_answer_serves_once_and_the_browser_that_asked(
    server: IdentityProvider, facts: Any, desk: Desk
) -> None:
    visitor = Visitor(server)
    response = server.signed(visitor.answer())
    # A thief posts the answer from a browser that has sent no request, or from one that sent its
    # own.
    assert Visitor(server).posts(response).status_code == 403
    assert why() == "single sign-on: this browser had not asked"
    assert visitor.posts(response)["Location"] == "/desk/"
    assert visitor.posts(response).status_code == 403
    # A response that is not signed itself can be changed to answer a later request, but the signed
    # assertion in it still names the first request, so it is refused.
    later = Visitor(server)
    response.set("InResponseTo", later.asked.id)
    assert later.posts(response).status_code == 403
    assert why() == "single sign-on: wrong subjectconfirmation"


def test_a_provider_begins_only_where_the_settings_allow_it_and_each_answer_serves_once(
    server: IdentityProvider, facts: Any, desk: Desk
) -> None:
    facts["idp_initiated"] = True
    visitor = Visitor(server)
    response = server.signed(visitor.answer(answers(None)))
    fresh = Client()
    visitor.client = fresh
    assert visitor.posts(response)["Location"] == "/desk/"
    assert visitor.is_in()
    visitor.client = Client()
    assert visitor.posts(response).status_code == 403
    assert why() == "single sign-on: it was used before"
    # A response to the site's request cannot be passed off as an unsolicited one.
    asked = Visitor(server)
    stolen = server.signed(asked.answer())
    del stolen.attrib["InResponseTo"]
    assert asked.posts(stolen).status_code == 403
    assert why() == "single sign-on: wrong subjectconfirmation"
    # The records of used assertions are deleted a day after the assertions have expired.
    assert UsedAssertion.objects.count() == 1
    UsedAssertion.objects.update(until=timezone.now() - timedelta(days=2))
    Visitor(server).enters()
    assert UsedAssertion.objects.get().until > timezone.now()


def refused(visitor: Visitor, response: Any) -> str:
    """Post a response that must be refused; return the reason that the audit list gives."""
    assert visitor.posts(response).status_code == 403
    assert not visitor.is_in()
    assert not SocialAccount.objects.exists()
    return why().removeprefix("single sign-on: ")


def test_only_the_providers_own_signature_of_the_assertion_counts(
    server: IdentityProvider, facts: Any, desk: Desk
) -> None:
    visitor = Visitor(server)
    plain = visitor.answer().response()
    assert refused(visitor, plain) == "the assertion is not signed"
    other = visitor.answer().response()
    sign(assertion_of(other), make_key())
    assert refused(visitor, other) == "invalid signature"
    # A signature of the response does not replace that of the assertion.
    outer = visitor.answer().response()
    sign(outer, server.key)
    assert refused(visitor, outer) == "the assertion is not signed"
    changed = server.signed(visitor.answer())
    changed.find(".//saml:NameID", NAMES).text = "p-8"
    assert refused(visitor, changed) == "invalid signature"
    # If the response is signed as well, that signature must be valid, too.
    both = server.signed(visitor.answer())
    sign(both, make_key())
    assert refused(visitor, both) == "invalid signature"
    both = server.signed(visitor.answer())
    sign(both, server.key)
    assert visitor.posts(both)["Location"] == "/desk/"


def test_deprecated_methods_are_refused(server: IdentityProvider, facts: Any, desk: Desk) -> None:
    visitor = Visitor(server)
    for options in (
        {"method": xmlsec.Transform.RSA_SHA1},
        {"digest": xmlsec.Transform.SHA1},
    ):
        response = visitor.answer().response()
        sign(assertion_of(response), server.key, **options)
        assert refused(visitor, response) == "deprecated signature method"


def wrap_before(response: Any) -> Any:
    """Put an invented assertion before the signed one."""
    evil = forged(response)
    assertion_of(response).addprevious(evil)
    return response


def wrap_after(response: Any) -> Any:
    """Put an invented assertion after the signed one."""
    assertion_of(response).addnext(forged(response))
    return response


def wrap_inside(response: Any) -> Any:
    """Forge the assertion with the same id, and hide the signed one in its subject."""
    true = assertion_of(response)
    evil = forged(response)
    evil.set("ID", true.get("ID"))
    response.replace(true, evil)
    evil.find("saml:Subject", NAMES).append(true)
    return response


def wrap_in_object(response: Any) -> Any:
    """Forge the assertion; put the true signature into it, and the true assertion into that."""
    true = assertion_of(response)
    signature = true.find("ds:Signature", NAMES)
    evil = forged(response)
    response.replace(true, evil)
    evil.find("saml:Issuer", NAMES).addnext(signature)
    etree.SubElement(signature, f"{{{DS}}}Object").append(true)
    return response


def wrap_in_extensions(response: Any) -> Any:
    """Forge the assertion, and hide the signed one in the response's extensions."""
    true = assertion_of(response)
    response.replace(true, forged(response))
    place = etree.Element("{urn:oasis:names:tc:SAML:2.0:protocol}Extensions")
    place.append(true)
    response.find("saml:Issuer", NAMES).addnext(place)
    return response


def wrap_by_renaming(response: Any) -> Any:
    """Forge the assertion, and hide the signed content in an element `hidden` with the same id."""
    true = assertion_of(response)
    evil = forged(response)
    evil.set("ID", true.get("ID"))
    evil.find("saml:Issuer", NAMES).addnext(true.find("ds:Signature", NAMES))
    response.replace(true, evil)
    hidden = etree.SubElement(response, "hidden", id=true.get("ID"))
    hidden.extend(list(true))
    return response


def same_id_by_xml(response: Any) -> Any:
    """Give another element the assertion's id, with the general attribute xml:id."""
    place = etree.Element("{urn:oasis:names:tc:SAML:2.0:protocol}Extensions")
    other = etree.SubElement(place, "{urn:x}other")
    other.set("{http://www.w3.org/XML/1998/namespace}id", assertion_of(response).get("ID"))
    response.find("saml:Issuer", NAMES).addnext(place)
    return response


def forged(response: Any) -> Any:
    """Return a forged assertion about somebody else, with more rights."""
    evil = copy.deepcopy(assertion_of(response))
    evil.remove(evil.find("ds:Signature", NAMES))
    evil.set("ID", "_forged")
    evil.find(".//saml:NameID", NAMES).text = "p-1"
    evil.find(".//saml:AttributeValue", NAMES).text = "heads"
    return evil


def further_reference(response: Any) -> Any:
    """Add a reference to a file of the server, which xmlsec would open."""
    info = response.find(".//ds:SignedInfo", NAMES)
    further = copy.deepcopy(info.find("ds:Reference", NAMES))
    further.set("URI", "file:///etc/hostname")
    info.append(further)
    return response


def whole_document(response: Any) -> Any:
    """Let the signature refer to the whole document."""
    response.find(".//ds:Reference", NAMES).set("URI", "")
    return response


def stylesheet(response: Any) -> Any:
    """Add an XSLT program as a transform, which would run before anything is verified."""
    transforms = response.find(".//ds:Transform", NAMES).getparent()
    program = etree.SubElement(transforms, f"{{{DS}}}Transform")
    program.set("Algorithm", "http://www.w3.org/TR/1999/REC-xslt-19991116")
    etree.SubElement(program, "{http://www.w3.org/1999/XSL/Transform}stylesheet", version="1.0")
    return response


def a_path(response: Any) -> Any:
    """Let the signature cover only what an XPath expression selects, which is nothing."""
    transform = response.find(".//ds:Transform", NAMES)
    transform.set("Algorithm", "http://www.w3.org/TR/1999/REC-xpath-19991116")
    etree.SubElement(transform, f"{{{DS}}}XPath").text = "ancestor::nothing"
    return response


def key_of_the_sender(response: Any) -> Any:
    """Sign with another key, and include that key's certificate."""
    assertion = assertion_of(response)
    assertion.remove(assertion.find("ds:Signature", NAMES))
    sign(assertion, make_key())
    return response


def comment_in_the_name(response: Any) -> Any:
    """Split the user's name by an XML comment, which leaves the signature valid."""
    name = response.find(".//saml:NameID", NAMES)
    comment = etree.Comment("x")
    comment.tail = name.text[2:]
    name.text = name.text[:2]
    name.append(comment)
    return response


ATTACKS = [
    *(wrap_before, wrap_after, wrap_inside, wrap_in_object, wrap_in_extensions, wrap_by_renaming),
    *(further_reference, whole_document, stylesheet, a_path, key_of_the_sender),
    comment_in_the_name,
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda each: each.__name__)
def test_a_signature_cannot_be_wrapped_around_something_else(
    server: IdentityProvider, facts: Any, desk: Desk, attack: Callable[[Any], Any]
) -> None:
    visitor = Visitor(server)
    refused(visitor, attack(server.signed(visitor.answer())))


def test_no_two_elements_have_one_id_in_any_name_space(
    server: IdentityProvider, facts: Any, desk: Desk
) -> None:
    visitor = Visitor(server)
    response = same_id_by_xml(server.signed(visitor.answer()))
    assert refused(visitor, response) == "two elements have the same id"


def entities(text: bytes) -> bytes:
    return b'<!DOCTYPE x [<!ENTITY a "p-7">]>' + text.replace(b">p-7<", b">&a;<")


def outer_entity(text: bytes) -> bytes:
    declared = b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]>'
    return declared + text.replace(b">p-7<", b">&a;<")


def laughs(text: bytes) -> bytes:
    many = b"".join(
        b'<!ENTITY l%d "%s">' % (level + 1, b"&l%d;" % level * 10) for level in range(9)
    )
    return b'<!DOCTYPE x [<!ENTITY l0 "ha">' + many + b"]>" + text.replace(b">p-7<", b">&l9;<")


def other_encoding(text: bytes) -> bytes:
    return b'<?xml version="1.0" encoding="utf-16"?>'.decode().encode("utf-16") + text


@pytest.mark.parametrize(
    "damage",
    [
        entities,
        outer_entity,
        laughs,
        other_encoding,
        lambda text: text.replace(b">p-7<", b"><![CDATA[p-7]]><"),
        lambda text: text.replace(b">p-7<", b"><?php 7?>p-7<"),
        lambda text: text[: len(text) // 2],
        lambda text: text.replace(b"<saml:Assertion", b"<saml:EncryptedAssertion", 1),
        lambda text: text + b" " * 300_000,
        lambda text: b"",
        lambda text: b"\xff\xfe",
        lambda text: re.sub(
            rb'NotOnOrAfter="[^"]+"', b'NotOnOrAfter="2126-01-01T00:00:00+01:00"', text
        ),
    ],
)
def test_a_document_that_may_be_read_in_two_ways_is_refused(
    server: IdentityProvider, facts: Any, desk: Desk, damage: Callable[[bytes], bytes]
) -> None:
    visitor = Visitor(server)
    refused(visitor, damage(etree.tostring(server.signed(visitor.answer()))))
    # An answer with an XML declaration, as many providers send it, is accepted.
    whole = b'<?xml version="1.0" encoding="UTF-8"?>\n'
    whole += etree.tostring(server.signed(visitor.answer()))
    assert visitor.posts(whole)["Location"] == "/desk/"


def test_strangers_store_nothing_and_are_slowed_down(
    server: IdentityProvider,
    facts: Any,
    desk: Desk,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.DPGEO_FAILED_SIGN_INS = 3
    client = Client(REMOTE_ADDR="192.0.2.1")

    def junk(times: int, ticket: str) -> list[int]:
        body = f"SAMLResponse=eA==&RelayState={ticket}"
        return [client.post(ANSWER, body, content_type=FORM).status_code for _ in range(times)]

    assert junk(5, "") == [403, 403, 403, 429, 429]
    # The limit is for answers that nobody asked for: in the same network, a sign-in that was begun
    # on this site can still be finished.
    visitor = Visitor(server)
    assert visitor.enters()["Location"] == "/desk/"
    # The ticket (RelayState) of a begun sign-in allows only a few answers; a forged or old ticket
    # allows none.
    asked = Visitor(server).asked.ticket
    assert junk(5, asked) == [403, 403, 403, 429, 429]
    assert junk(1, f"{asked}x") == [429]
    monkeypatch.setattr("dpgeo.accounts.saml.TICKET_SECONDS", -1)
    assert junk(1, Visitor(server).asked.ticket) == [429]
    assert client.get(ANSWER).status_code == 405
    assert client.get("/accounts/saml/town/finish/").status_code == 403
    forged = signing.dumps({"provider": "town"}, salt="another")
    client.cookies["dpgeo_saml"] = forged
    assert client.get("/accounts/saml/town/finish/").status_code == 403
    assert Event.objects.filter(kind=EventKind.SIGN_IN_FAILED).count() == 3
    assert "sessionid" not in client.cookies
    for end in ("", "answer/", "finish/", "metadata/"):
        method = client.post if end == "answer/" else client.get
        assert method(f"/accounts/saml/other/{end}").status_code == 404


APP = "/desk/account/second-factor/app/"


def test_an_open_session_at_the_provider_confirms_nothing(
    server: IdentityProvider, facts: Any, desk: Desk
) -> None:
    """Before second factors change, the provider must ask the user for a new proof of identity."""
    visitor = Visitor(server)
    assert not visitor.asked.again
    visitor.enters(says(proved=-10))  # the password was entered 10 minutes ago
    confirm = visitor.client.get(APP)["Location"]
    page = visitor.client.get(confirm).content.decode()
    (begin,) = re.findall(f'href="({BEGIN}[^"]+)"', page)

    def asked_again() -> None:
        sent = visitor.client.get(html.unescape(begin))
        visitor.asked = server.asked(sent["Location"])
        assert visitor.asked.again

    for lie, subject in (
        # somebody at the visitor's computer changed the request, so that no password was asked for
        # again
        (says(proved=-3), "p-7"),
        (says(proved=None), "p-7"),
        (None, "p-9"),  # a passer-by signs in as somebody else
    ):
        server.people["p-9"] = {"groups": ["gis"], "uid": ["eve"]}
        asked_again()
        assert visitor.enters(lie, subject).status_code == 403
        assert visitor.client.get(APP)["Location"] == confirm
    assert why() == "single sign-on: somebody else was confirmed"
    asked_again()
    session = visitor.client.session.session_key
    assert visitor.enters()["Location"] == APP
    assert visitor.client.get(APP).status_code == 200
    assert visitor.client.session.session_key == session


def test_a_proof_at_sign_in_is_not_asked_for_twice(
    server: IdentityProvider, facts: Any, desk: Desk
) -> None:
    visitor = Visitor(server)
    visitor.enters(says(proved=-2))
    assert visitor.client.get(APP).status_code == 200


def test_two_providers_have_two_ids(facts: Any, settings: Any) -> None:
    settings.DPGEO_SAML = [facts, facts]
    assert [each.id for each in check_providers()] == ["dpgeo.accounts.E004"]
