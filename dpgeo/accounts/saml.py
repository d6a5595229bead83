"""Single sign-on by SAML 2.0: requests to identity providers, and checks of their responses.

django-allauth completes the sign-in, python3-saml parses responses and xmlsec verifies signatures.
These libraries accept more than this site needs, and SAML has a long history of attacks in which
one part of a response was verified and another one read. So a response must first have the one
shape that `_check_shape` allows. Its facts are then read from the signed assertion, by rules
stricter than those of the libraries.

Argument. A response must be one XML document without document type, comments, entities or encrypted
parts, with exactly one assertion and no id used twice. The assertion itself is signed: the
signature is its child, refers to it alone, and uses only the transforms that leave out the
signature and write the rest in canonical form. The element that is verified is therefore the one
that is read (no signature wrapping). Nor does xmlsec ever open a URL, file or program (XPath, XSLT)
named in a signature, which it would do before verifying anything. The key is always the one in the
settings, and SHA-1 is not accepted.

The assertion must name this site as its audience, the URL that received it, an expiry time in the
future, and the request that it answers, which the same browser must have sent within ten minutes.
The assertion's id is stored until it expires, so that it can be used only once (`assertion_use`),
even if the settings allow sign-ins that begin at the provider (`idp_initiated`). The subject is a
persistent name or an attribute chosen in the settings, because a provider may give other names to
somebody else later.

Browsers post a response from the provider's site, so they send no session cookie with it
(`SameSite=Lax`). The accepted assertion travels in a signed cookie to the next page of this site,
so strangers cannot fill the database.

Each request carries a ticket (RelayState), which comes back with the response. A ticket proves
nothing about anybody; it only decides which limit a response counts against. Responses with a
ticket have a few attempts of their own, while those without one share the limit of their network.
Whoever posts nonsense therefore uses up no attempts of people who did send a request. More tickets
give more attempts, but each costs a request, which takes this site longer than refusing a response.

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

from dpgeo.accounts.fresh_tokens import FreshSigner, seal, unseal
from dpgeo.accounts.providers import Facts, groups_in_use
from dpgeo.accounts.single_sign_on import saml_app
from dpgeo.accounts.site_links import site_link

MAX_BYTES = 256 * 1024
"""Largest SAML response that is read, in bytes.

One that lists a thousand groups has less than half of this size.
"""

COOKIE = f"{settings.COOKIE_PREFIX}dpgeo_saml"
COOKIE_SECONDS = 300
SALT = "dpgeo.accounts.saml"

TICKET_SALT = "dpgeo.accounts.saml.ticket"
TICKET_SECONDS = 600
"""Number of seconds for which a sign-in request may be answered.

After the same time, allauth deletes what it stored about the request.
"""

MAX_SUBJECT_LENGTH = 191
"""Maximum length of a subject, in characters, in allauth's database column."""

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
"""SAML attributes in which providers send an e-mail address, a full name and a user name."""

ENVELOPED = "http://www.w3.org/2000/09/xmldsig#enveloped-signature"
CANONICAL = "http://www.w3.org/2001/10/xml-exc-c14n#"
ECDSA = "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha"
SIGNATURES = {Names.RSA_SHA256, Names.RSA_SHA384, Names.RSA_SHA512} | {
    f"{ECDSA}{bits}" for bits in (256, 384, 512)
}
DIGESTS = {Names.SHA256, Names.SHA384, Names.SHA512}

IDS = {"id", "assertionid"}
"""Lower-case names of XML attributes that hold ids."""

DECLARATION = re.compile(r"^\s*<\?xml\s[^<>]*\?>")

REASONS = {
    value: name.lower().replace("_", " ")
    for name, value in vars(OneLogin_Saml2_ValidationError).items()
    if name.isupper() and isinstance(value, int)
}
"""Texts for python3-saml's error codes. Unlike the library's own messages, they never quote the
provider's response.
"""


class Refused(Exception):
    """Raised for a SAML response that is not accepted. The text says why without quoting it."""


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The facts in an accepted assertion about a user.

    `answers` is the id of the request that the assertion responds to, or "" if the sign-in began at
    the provider. `until` is when the assertion expires, and `authenticated` when the user last
    proved their identity to the provider, both in seconds since 1970.
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
        """Return the subject, which identifies a person among the provider's users."""
        return data.subject

    def extract_extra_data(self, data: Confirmed) -> Facts:
        """Return the facts about the user in the form of OpenID Connect's claims."""
        return {"id_token": {"auth_time": data.authenticated}, "userinfo": data.claims}

    def extract_common_fields(self, data: Confirmed) -> Facts:
        """Return the facts from which a new account is made, such as its e-mail address."""
        names = ("email", "name", "username")
        return {name: data.claims[name] for name in names if data.claims[name]}


def find_identity_provider(request: HttpRequest, facts: Facts) -> IdentityProvider:
    """Return allauth's object for a provider in DPGEO_SAML and the current request."""
    return IdentityProvider(request, app=saml_app(facts))


def address_to_ask(request: HttpRequest, facts: Facts, *, again: bool) -> tuple[str, str]:
    """Return the provider's URL at which the user signs in, and the id of the request in it.

    With `again`, the provider must check the user's identity even if its own session is still open.
    """
    site = _Site(request, facts)
    auth = OneLogin_Saml2_Auth(site.request_data(), site.toolkit())
    ticket = FreshSigner(salt=TICKET_SALT).sign(secrets.token_urlsafe(9))
    address = auth.login(return_to=ticket, force_authn=again)
    return address, auth.get_last_request_id()


def is_ticket(text: str) -> bool:
    """Return whether `text` is a ticket (RelayState) that this site signed and sent with a request
    in the last TICKET_SECONDS.
    """
    try:
        FreshSigner(salt=TICKET_SALT).unsign(text, max_age=TICKET_SECONDS)
    except signing.BadSignature:
        return False
    return True


def provider_metadata(request: HttpRequest, facts: Facts) -> bytes:
    """Return the SAML metadata that describe this site to a provider, without an expiry date."""
    return cast(bytes, _Site(request, facts).toolkit().get_sp_metadata())


def read_answer(request: HttpRequest, facts: Facts, answer: str) -> Confirmed:
    """Check a SAML response, in Base64, and return its facts. Raises Refused if it is not
    acceptable.
    """
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
    # Refuse the sign-in after any error: the libraries raise many types, even a bare Exception.
    except Exception as error:
        raise Refused(f"not readable: {type(error).__name__}") from None


def sealed(confirmed: Confirmed) -> str:
    """Return the signed cookie value that carries an accepted assertion to the site's next page."""
    return seal(asdict(confirmed), salt=SALT)


def unsealed(value: str) -> Confirmed:
    """Return the assertion that the cookie's `value` carries. Raises Refused if it is not valid."""
    try:
        return Confirmed(**unseal(value, salt=SALT, max_age=COOKIE_SECONDS))
    except signing.BadSignature:
        raise Refused("no answer waits in this browser, or for too long") from None


class _Site:
    """This site as one provider knows it: its URLs, and the settings for python3-saml."""

    def __init__(self, request: HttpRequest, facts: Facts) -> None:
        self.facts = facts
        self.receives = self._address(request, "saml-answer")
        self.name = facts.get("site_id") or self._address(request, "saml-metadata")

    def _address(self, request: HttpRequest, name: str) -> str:
        """Return the absolute URL of a URL pattern, without a language prefix."""
        path = reverse(name, urlconf=settings.ROOT_URLCONF, args=[self.facts["id"]])
        return site_link(path)

    def request_data(self) -> Facts:
        """Return the URL that receives the provider's responses, as python3-saml expects it."""
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
        """Return the settings for python3-saml; DPGEO_SAML cannot make any of them less strict."""
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
    """Return a SAML response's XML without the XML declaration.

    Raises Refused for comments, document types, CDATA sections and processing instructions: no
    provider sends them, and libraries differ in how they read them.
    """
    if len(answer) > MAX_BYTES * 4 // 3:
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
    # Check attributes in all namespaces, because libxml2 also treats xml:id as an id.
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
    """Return the id of the request that an assertion responds to, or "", and when it expires.

    python3-saml would accept an assertion without an audience, or for a URL that merely begins like
    this site's, so both are checked here. Raises Refused.
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
        # Only the assertion is sure to be signed, so it must itself name the request.
        named = data.get("InResponseTo", "") == answers
        if named and data.get("Recipient") == site.receives and until > now:
            return answers, until
    raise Refused("wrong subjectconfirmation")


def _authenticated(assertion: Any) -> int:
    """Return when the user last proved their identity to the provider, in seconds since 1970.

    Returns 0, which counts as long ago, if the assertion does not say.
    """
    statements = list(_of(assertion, "saml:AuthnStatement"))
    times = [Clock.parse_SAML_to_time(each.get("AuthnInstant")) for each in statements]
    return min(times, default=0)


def _of(element: Any, path: str) -> Iterator[Any]:
    return iter(element.findall(path, namespaces=Names.NSMAP))


def _attributes(assertion: Any) -> dict[str, list[str]]:
    """Return the values of an assertion's attributes, by both name and friendly name."""
    found: dict[str, list[str]] = {}
    for each in _of(assertion, "saml:AttributeStatement/saml:Attribute"):
        values = [one.text.strip() for one in _of(each, "saml:AttributeValue") if one.text]
        for name in {each.get("Name"), each.get("FriendlyName")} - {None}:
            found.setdefault(name, []).extend(values)
    return found


def _subject(assertion: Any, facts: Facts) -> str:
    """Return the identifier of the person that an assertion is about.

    Raises Refused if the provider sends no single identifier that stays with one person for good.
    """
    attributes = _attributes(assertion)
    chosen = facts.get("subject_claim") or SUBJECT_ID
    values = attributes.get(chosen, [])
    if not values and not facts.get("subject_claim"):
        names = _of(assertion, "saml:Subject/saml:NameID")
        values = [each.text for each in names if each.get("Format") == PERSISTENT and each.text]
    if len(values) != 1 or not 0 < len(values[0]) <= MAX_SUBJECT_LENGTH:
        raise Refused("no persistent name of the subject")
    return values[0]


def _claims(assertion: Any, facts: Facts) -> dict[str, Any]:
    """Return what an assertion says of the user: groups with a role here, e-mail address, names."""
    attributes = _attributes(assertion)
    groups = set(attributes.get(facts.get("groups_claim", "groups"), []))

    def first(name: str, usual: tuple[str, ...], most: int) -> str:
        names = (facts[name],) if facts.get(name) else usual
        values = [value for each in names for value in attributes.get(each, [])]
        return values[0][:most] if values else ""

    return {
        facts.get("groups_claim", "groups"): sorted(groups & groups_in_use(facts)),
        "email": first("email_claim", EMAIL_ATTRIBUTES, 254),
        # SAML does not state whether an address is verified; the setting `trust_email` decides.
        "email_verified": True,
        "name": first("name_claim", NAME_ATTRIBUTES, 150),
        "username": first("username_claim", USERNAME_ATTRIBUTES, 150),
    }
