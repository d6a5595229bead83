"""Single sign-on by SAML 2.0: what is asked of an identity provider, and which answers are taken.

django-allauth keeps the sign-in, python3-saml reads answers and xmlsec verifies signatures. Both
libraries take more than this site needs, and SAML has a long history of answers that were read
otherwise than they were verified. So an answer must first have the one shape that `_check_shape`
allows, and its facts are then read from the assertion that is signed, by rules stricter than those
of the libraries.

Argument. Nothing is processed but one document without a document type, comments, entities and
encrypted parts, in which no two elements have the same id, with exactly one assertion. The
assertion itself is signed: its signature lies directly in it, refers to it alone, and has no
transforms but those that leave out the signature and write the rest in canonical form. What was
verified and what is read are therefore the same element (no signature wrapping), and no address, no
file and no program in a signature (XPath, XSLT) is ever opened by xmlsec, which would do so before
it verifies anything. The key is the one in the settings, whatever the document says, and nothing
rests on SHA-1.

The assertion must name this site as its audience, the address that received it, an end that has not
passed, and the request that it answers, which the same browser must have made within ten minutes.
Its id is stored until that end, so that it serves once (`assertion_use`), even where the settings
allow a provider to begin (`idp_initiated`). The subject is a persistent name or an attribute chosen
in the settings, because other names are handed out again.

An answer is posted by another site, so browsers send no session with it (`SameSite=Lax`). What it
confirms waits in a signed cookie for the page on this site that the browser is sent to, so
strangers store nothing here.

A request carries a ticket (RelayState), which the answer to it brings back. It proves nothing about
anybody and only chooses the limit that an answer counts against: answers with a ticket have a few
attempts of their own, and those without share the limit of their network. Whoever posts nonsense
therefore uses up the attempts of nobody who has asked. More tickets give more attempts, each for
the price of a request, which takes this site longer than to refuse an answer.

References: SAML 2.0 Profiles, sections 4.1.4.3 and 4.1.4.5; Somorovsky et al., "On Breaking SAML:
Be Whoever You Want to Be" (USENIX Security 2012).
"""

from __future__ import annotations

import base64
import re
import secrets
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, cast
from urllib.parse import urlsplit

from allauth.socialaccount.providers.saml.provider import SAMLProvider
from django.conf import settings
from django.core import signing
from django.http import HttpRequest
from django.urls import reverse
from lxml import etree
from onelogin.saml2.auth import OneLogin_Saml2_Auth
from onelogin.saml2.constants import OneLogin_Saml2_Constants as Names
from onelogin.saml2.errors import OneLogin_Saml2_ValidationError
from onelogin.saml2.response import OneLogin_Saml2_Response
from onelogin.saml2.settings import OneLogin_Saml2_Settings
from onelogin.saml2.utils import OneLogin_Saml2_Utils as Clock
from onelogin.saml2.xml_utils import OneLogin_Saml2_XML

from dpgeo.accounts.providers import Facts, groups_in_use
from dpgeo.accounts.single_sign_on import saml_app

MOST_BYTES = 256 * 1024
"""Largest answer that is read; a thousand groups take less than half of it."""

COOKIE = f"{settings.COOKIE_PREFIX}dpgeo_saml"
COOKIE_SECONDS = 300
SALT = "dpgeo.accounts.saml"

TICKET_SALT = "dpgeo.accounts.saml.ticket"
TICKET_SECONDS = 600
"""Number of seconds for which a sign-in request may be answered.

After the same time, allauth deletes what it stored about the request.
"""

LONGEST_SUBJECT = 191
"""Characters of allauth's column for subjects."""

SUBJECT_ID = "urn:oasis:names:tc:SAML:attribute:subject-id"
PERSISTENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"

EMAIL_ATTRIBUTES = (
    "email",
    "mail",
    "urn:oid:0.9.2342.19200300.100.1.3",
    "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress",
)
NAME_ATTRIBUTES = (
    "displayName",
    "name",
    "urn:oid:2.16.840.1.113730.3.1.241",
    "http://schemas.microsoft.com/identity/claims/displayname",
)
USERNAME_ATTRIBUTES = (
    "uid",
    "username",
    "urn:oid:0.9.2342.19200300.100.1.1",
    "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/name",
)
"""Names under which providers send an address, a name for people and a name to sign in with."""

ENVELOPED = "http://www.w3.org/2000/09/xmldsig#enveloped-signature"
CANONICAL = "http://www.w3.org/2001/10/xml-exc-c14n#"
ECDSA = "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha"
SIGNATURES = {Names.RSA_SHA256, Names.RSA_SHA384, Names.RSA_SHA512} | {
    f"{ECDSA}{bits}" for bits in (256, 384, 512)
}
DIGESTS = {Names.SHA256, Names.SHA384, Names.SHA512}

IDS = {"id", "assertionid"}
"""Names of attributes that hold ids, in small letters."""

DECLARATION = re.compile(r"^\s*<\?xml\s[^<>]*\?>")

REASONS = {
    value: name.lower().replace("_", " ")
    for name, value in vars(OneLogin_Saml2_ValidationError).items()
    if name.isupper() and isinstance(value, int)
}
"""The reasons for which python3-saml refuses an answer, in words by their codes; none quotes the
answer.
"""


class Refused(Exception):
    """An answer that is not accepted. Its text says why, and holds nothing of the answer."""


@dataclass(frozen=True, slots=True)
class Confirmed:
    """What an accepted assertion says about somebody.

    `answers` is the id of the request, or "" if nobody asked; `until` is the end of the assertion
    in seconds since 1970, and `authenticated` the last time at which the provider had proof of who
    it is, as it says.
    """

    provider: str
    subject: str
    claims: dict[str, Any]
    answers: str
    assertion: str
    until: int
    authenticated: int


class IdentityProvider(SAMLProvider):  # type: ignore[misc]
    """allauth's SAML provider, which reads assertions that `read_answer` has accepted."""

    def extract_uid(self, data: Confirmed) -> str:
        """Return the subject, which identifies a person within the provider."""
        return data.subject

    def extract_extra_data(self, data: Confirmed) -> Facts:
        """Return the claims as OpenID Connect would give them."""
        return {"id_token": {"auth_time": data.authenticated}, "userinfo": data.claims}

    def extract_common_fields(self, data: Confirmed) -> Facts:
        """Return the facts from which a new account is made, such as its e-mail address."""
        names = ("email", "name", "username")
        return {name: data.claims[name] for name in names if data.claims[name]}


def provider_of(request: HttpRequest, facts: Facts) -> IdentityProvider:
    """Return a provider of DPGEO_SAML for a request."""
    return IdentityProvider(request, app=saml_app(facts))


def address_to_ask(request: HttpRequest, facts: Facts, *, again: bool) -> tuple[str, str]:
    """Return the address that asks a provider who somebody is, and the request's id.

    With `again`, the provider has to ask for a proof even where it knows the browser.
    """
    site = _Site(request, facts)
    auth = OneLogin_Saml2_Auth(site.request_data(), site.toolkit())
    ticket = signing.TimestampSigner(salt=TICKET_SALT).sign(secrets.token_urlsafe(9))
    address = auth.login(return_to=ticket, force_authn=again)
    return address, auth.get_last_request_id()


def is_ticket(text: str) -> bool:
    """Return whether a request of this site within TICKET_SECONDS carried `text`."""
    try:
        signing.TimestampSigner(salt=TICKET_SALT).unsign(text, max_age=TICKET_SECONDS)
    except signing.BadSignature:
        return False
    return True


def metadata_of(request: HttpRequest, facts: Facts) -> bytes:
    """Return the SAML metadata that describe this site to a provider; they do not expire."""
    return cast(bytes, _Site(request, facts).toolkit().get_sp_metadata())


def read_answer(request: HttpRequest, facts: Facts, answer: str) -> Confirmed:
    """Return what a provider's answer confirms. Raises Refused."""
    site = _Site(request, facts)
    text = _checked_text(answer)
    try:
        document = OneLogin_Saml2_XML.to_etree(text.encode())
        assertion = _check_shape(document)
        response = OneLogin_Saml2_Response(site.toolkit(), base64.b64encode(text.encode()))
        response.is_valid(site.request_data(), raise_exceptions=True)
        assertion = OneLogin_Saml2_XML.query(response.document, "/samlp:Response/saml:Assertion")[0]
        answers, until = _check_use(response.document, assertion, site)
        return Confirmed(
            provider=facts["id"],
            subject=_subject(assertion, facts),
            claims=_claims(assertion, facts),
            answers=answers,
            assertion=assertion.get("ID"),
            until=until,
            authenticated=_authenticated(assertion),
        )
    except OneLogin_Saml2_ValidationError as error:
        raise Refused(REASONS.get(error.code, "invalid")) from None
    except Refused:
        raise
    # The libraries raise many types, a bare Exception among them; whatever it is, nobody signs in.
    except Exception as error:
        raise Refused(f"not readable: {type(error).__name__}") from None


def sealed(confirmed: Confirmed) -> str:
    """Return the signed value of the cookie that carries an accepted assertion to the next page."""
    return signing.dumps(asdict(confirmed), salt=SALT, compress=True)


def unsealed(value: str) -> Confirmed:
    """Return the assertion that the cookie's `value` carries. Raises Refused if it is not valid."""
    try:
        return Confirmed(**signing.loads(value, salt=SALT, max_age=COOKIE_SECONDS))
    except signing.BadSignature:
        raise Refused("no answer waits in this browser, or for too long") from None


class _Site:
    """This site as one provider knows it: its addresses, and what it demands of answers."""

    def __init__(self, request: HttpRequest, facts: Facts) -> None:
        self.facts = facts
        self.receives = self._address(request, "saml-answer")
        self.name = facts.get("site_id") or self._address(request, "saml-metadata")

    def _address(self, request: HttpRequest, name: str) -> str:
        """Return the absolute URL of a URL pattern, without a language prefix."""
        path = reverse(name, urlconf=settings.ROOT_URLCONF, args=[self.facts["id"]])
        return request.build_absolute_uri(path)

    def request_data(self) -> Facts:
        """Return a request to this site in python3-saml's form."""
        address = urlsplit(self.receives)
        return {
            "https": "on" if address.scheme == "https" else "off",
            "http_host": address.netloc,
            "script_name": "",
            "path_info": address.path,
            "get_data": {},
            "post_data": {},
        }

    def toolkit(self) -> OneLogin_Saml2_Settings:
        """Return python3-saml's settings; DPGEO_SAML can make none of them less strict."""
        certificates = list(self.facts["certificates"])
        return OneLogin_Saml2_Settings(
            {
                "strict": True,
                "sp": {
                    "entityId": self.name,
                    "assertionConsumerService": {"url": self.receives},
                    "NameIDFormat": PERSISTENT,
                },
                "idp": {
                    "entityId": self.facts["entity_id"],
                    "singleSignOnService": {"url": self.facts["sso_url"]},
                    "x509certMulti": {"signing": certificates},
                },
                "security": {
                    "wantAssertionsSigned": True,
                    "rejectDeprecatedAlgorithm": True,
                    "allowSingleLabelDomains": True,
                    "requestedAuthnContext": False,
                    "wantAttributeStatement": False,
                    "wantNameId": False,
                    "metadataValidUntil": "",
                    "metadataCacheDuration": "P1W",
                },
            }
        )


def _checked_text(answer: str) -> str:
    """Return the XML of an answer without its declaration. Raises Refused.

    Comments, document types with their entities, sections of CDATA and processing instructions are
    refused: no provider sends them, and libraries differ in how they read them.
    """
    if len(answer) > MOST_BYTES * 4 // 3:
        raise Refused("too large")
    try:
        text = base64.b64decode("".join(answer.split()), validate=True).decode("utf-8")
    except ValueError:
        raise Refused("not base64 of UTF-8") from None
    text = DECLARATION.sub("", text, count=1)
    if "<!" in text or "<?" in text or "\0" in text:
        raise Refused("a document type, comment or instruction")
    return text


def _check_shape(document: Any) -> Any:
    """Check that a document can be verified and read in one way only, and return its assertion.

    Raises Refused.
    """
    assertions = list(document.iter(f"{{{Names.NS_SAML}}}Assertion"))
    encrypted = next(document.iter(f"{{{Names.NS_SAML}}}EncryptedAssertion"), None)
    if document.tag != f"{{{Names.NS_SAMLP}}}Response" or encrypted is not None:
        raise Refused("not a response with a readable assertion")
    if len(assertions) != 1 or assertions[0].getparent() is not document:
        raise Refused("not exactly one assertion")
    # libxml2 takes xml:id for an id of its own accord, so no name space is left out.
    named = [
        value
        for each in document.iter()
        for name, value in each.items()
        if etree.QName(name).localname.lower() in IDS
    ]
    if len(set(named)) != len(named):
        raise Refused("two elements have the same id")
    signed = [_check_signature(each) for each in document.iter(f"{{{Names.NS_DS}}}Signature")]
    if len(set(signed)) != len(signed) or not set(signed) <= {document, assertions[0]}:
        raise Refused("a signature where none belongs")
    if assertions[0] not in signed:
        raise Refused("the assertion is not signed")
    return assertions[0]


def _check_signature(signature: Any) -> Any:
    """Check that a signature covers exactly the element that it lies in, and return that element.

    Raises Refused.
    """
    inside = _names(signature)
    if inside not in (
        ["SignedInfo", "SignatureValue"],
        ["SignedInfo", "SignatureValue", "KeyInfo"],
    ):
        raise Refused("a signature of another form")
    info = signature[0]
    if _names(info) != ["CanonicalizationMethod", "SignatureMethod", "Reference"]:
        raise Refused("a signature that does not cover exactly one element")
    canonical, method, reference = info
    if _names(reference) != ["Transforms", "DigestMethod", "DigestValue"]:
        raise Refused("a signature of another form")
    transforms, digest, _ = reference
    if [each.get("Algorithm") for each in transforms] != [ENVELOPED, CANONICAL]:
        raise Refused("a signature with other transforms")
    further = {etree.QName(each).localname for each in transforms.iterdescendants()}
    if further - {"Transform", "InclusiveNamespaces"} or canonical.get("Algorithm") != CANONICAL:
        raise Refused("a signature with other transforms")
    if method.get("Algorithm") not in SIGNATURES or digest.get("Algorithm") not in DIGESTS:
        raise Refused("deprecated signature method")
    parent = signature.getparent()
    if parent is None or not parent.get("ID") or reference.get("URI") != f"#{parent.get('ID')}":
        raise Refused("a signature that does not cover exactly one element")
    return parent


def _names(element: Any) -> list[str]:
    return [etree.QName(each).localname for each in element]


def _check_use(document: Any, assertion: Any, site: _Site) -> tuple[str, int]:
    """Return the request that an assertion answers ("" for none) and its end. Raises Refused.

    The library python3-saml would accept an assertion without an audience, and an address that
    merely begins like this site's. So both are checked here.
    """
    if document.get("Destination", site.receives) != site.receives:
        raise Refused("wrong destination")
    restrictions = list(_of(assertion, "saml:Conditions/saml:AudienceRestriction"))
    audiences = [{each.text for each in _of(one, "saml:Audience")} for one in restrictions]
    if not audiences or not all(site.name in each for each in audiences):
        raise Refused("wrong audience")
    answers = document.get("InResponseTo", "")
    now = Clock.now()
    for each in _of(assertion, "saml:Subject/saml:SubjectConfirmation"):
        data = next(_of(each, "saml:SubjectConfirmationData"), None)
        if each.get("Method") != Names.CM_BEARER or data is None:
            continue
        end = data.get("NotOnOrAfter")
        until = Clock.parse_SAML_to_time(end) if end else 0
        # The response is not signed: the assertion itself must name the request.
        named = data.get("InResponseTo", "") == answers
        if named and data.get("Recipient") == site.receives and until > now:
            return answers, until
    raise Refused("wrong subjectconfirmation")


def _authenticated(assertion: Any) -> int:
    """Return when somebody last proved to the provider who they are, in seconds since 1970.

    It is 0, so never lately, where the assertion does not say.
    """
    statements = list(_of(assertion, "saml:AuthnStatement"))
    times = [Clock.parse_SAML_to_time(each.get("AuthnInstant")) for each in statements]
    return min(times, default=0)


def _of(element: Any, path: str) -> Iterator[Any]:
    return iter(element.findall(path, namespaces=Names.NSMAP))


def _attributes(assertion: Any) -> dict[str, list[str]]:
    """Return an assertion's attributes, by their names and by their friendly names."""
    found: dict[str, list[str]] = {}
    for each in _of(assertion, "saml:AttributeStatement/saml:Attribute"):
        values = [one.text.strip() for one in _of(each, "saml:AttributeValue") if one.text]
        for name in {each.get("Name"), each.get("FriendlyName")} - {None}:
            found.setdefault(name, []).extend(values)
    return found


def _subject(assertion: Any, facts: Facts) -> str:
    """Return the name of the person that an assertion is about.

    Raises Refused unless there is a name that the provider never gives to anybody else.
    """
    attributes = _attributes(assertion)
    chosen = facts.get("subject_claim") or SUBJECT_ID
    values = attributes.get(chosen, [])
    if not values and not facts.get("subject_claim"):
        names = _of(assertion, "saml:Subject/saml:NameID")
        values = [each.text for each in names if each.get("Format") == PERSISTENT and each.text]
    if len(values) != 1 or not 0 < len(values[0]) <= LONGEST_SUBJECT:
        raise Refused("no persistent name of the subject")
    return values[0]


def _claims(assertion: Any, facts: Facts) -> dict[str, Any]:
    """Return the groups that have a role, and what a new account is made with."""
    attributes = _attributes(assertion)
    groups = set(attributes.get(facts.get("groups_claim", "groups"), []))

    def first(name: str, usual: tuple[str, ...], most: int) -> str:
        names = (facts[name],) if facts.get(name) else usual
        values = [value for each in names for value in attributes.get(each, [])]
        return values[0][:most] if values else ""

    return {
        facts.get("groups_claim", "groups"): sorted(groups & groups_in_use(facts)),
        "email": first("email_claim", EMAIL_ATTRIBUTES, 254),
        # SAML has no attribute that says so; the setting `trust_email` decides instead.
        "email_verified": True,
        "name": first("name_claim", NAME_ATTRIBUTES, 150),
        "username": first("username_claim", USERNAME_ATTRIBUTES, 150),
    }
