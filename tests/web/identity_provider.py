"""A small identity provider that speaks SAML, and can send false answers.

It signs real assertions with a fresh key, using xmlsec but not the library with which this site
reads them. It runs on 127.0.0.1. The site sends a browser to the provider's page, where a person
says who they are; the provider's next page posts the answer to the site.
"""

from __future__ import annotations

import base64
import html
import threading
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import xmlsec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID
from lxml import etree

SAML = "urn:oasis:names:tc:SAML:2.0:assertion"
SAMLP = "urn:oasis:names:tc:SAML:2.0:protocol"
DS = "http://www.w3.org/2000/09/xmldsig#"
NAMES = {"saml": SAML, "samlp": SAMLP, "ds": DS}
PERSISTENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"


def moment(minutes: float = 0) -> str:
    """Return the time `minutes` from now, in SAML's format."""
    return f"{datetime.now(UTC) + timedelta(minutes=minutes):%Y-%m-%dT%H:%M:%SZ}"


@dataclass(frozen=True)
class Key:
    """A private key made for the test, with its certificate."""

    private: bytes
    certificate: str


def make_key(days: int = 3650) -> Key:
    """Make a key whose certificate expires in `days` days."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Identity of Vessby")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=days))
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return Key(private, base64.b64encode(made.public_bytes(serialization.Encoding.DER)).decode())


@dataclass(frozen=True)
class Asked:
    """The content of a sign-in request from the site."""

    id: str
    answer_to: str
    issuer: str
    ticket: str
    again: bool


@dataclass
class Answer:
    """The content of the provider's answer. Tests can set each field to something false."""

    issuer: str
    audience: str | None
    recipient: str
    in_response_to: str | None
    confirmed_in_response_to: str | None
    subject: str
    attributes: Mapping[str, Sequence[str]]
    name_format: str = PERSISTENT
    destination: str | None = None
    minutes: float = 5
    begins: float = -1
    proved: float | None = 0
    id: str = field(default_factory=lambda: f"_{uuid.uuid4().hex}")

    def response(self) -> Any:
        """Return the answer as an unsigned SAML response."""
        given = "".join(
            f'<saml:Attribute Name="{html.escape(name)}">'
            + "".join(
                f"<saml:AttributeValue>{html.escape(v)}</saml:AttributeValue>" for v in values
            )
            + "</saml:Attribute>"
            for name, values in self.attributes.items()
        )
        statement = f"<saml:AttributeStatement>{given}</saml:AttributeStatement>" if given else ""
        audience = (
            f"<saml:AudienceRestriction><saml:Audience>{self.audience}</saml:Audience>"
            "</saml:AudienceRestriction>"
            if self.audience
            else ""
        )
        end = moment(self.minutes)
        text = f"""<samlp:Response xmlns:samlp="{SAMLP}" xmlns:saml="{SAML}" ID="_{
            uuid.uuid4().hex
        }"
 Version="2.0" IssueInstant="{moment()}"{_said("Destination", self.destination)}{
            _said("InResponseTo", self.in_response_to)
        }><saml:Issuer>{self.issuer}</saml:Issuer>
<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>
<saml:Assertion ID="{self.id}" Version="2.0" IssueInstant="{moment()}"><saml:Issuer>{
            self.issuer
        }</saml:Issuer><saml:Subject><saml:NameID Format="{self.name_format}">{
            self.subject
        }</saml:NameID><saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer">
<saml:SubjectConfirmationData NotOnOrAfter="{end}" Recipient="{self.recipient}"{
            _said("InResponseTo", self.confirmed_in_response_to)
        }/></saml:SubjectConfirmation></saml:Subject>
<saml:Conditions NotBefore="{moment(self.begins)}" NotOnOrAfter="{end}">{audience}</saml:Conditions>
<saml:AuthnStatement{
            _said("AuthnInstant", None if self.proved is None else moment(self.proved))
        }><saml:AuthnContext><saml:AuthnContextClassRef>
urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport</saml:AuthnContextClassRef>
</saml:AuthnContext></saml:AuthnStatement>{statement}</saml:Assertion></samlp:Response>"""
        return etree.fromstring(text)


def _attribute(name: str, values: Sequence[str]) -> str:
    tag = "saml:AttributeValue"
    held = "".join(f"<{tag}>{html.escape(each)}</{tag}>" for each in values)
    return f'<saml:Attribute Name="{html.escape(name)}">{held}</saml:Attribute>'


def _said(name: str, value: str | None) -> str:
    return "" if value is None else f' {name}="{value}"'


def sign(
    element: Any,
    key: Key,
    *,
    method: Any = None,
    digest: Any = None,
    transforms: Sequence[Any] = (),
) -> None:
    """Sign an element with a signature inside it, after its child Issuer."""
    signature = xmlsec.template.create(
        element, xmlsec.Transform.EXCL_C14N, method or xmlsec.Transform.RSA_SHA256, ns="ds"
    )
    element.find("saml:Issuer", NAMES).addnext(signature)
    reference = xmlsec.template.add_reference(
        signature, digest or xmlsec.Transform.SHA256, uri=f"#{element.get('ID')}"
    )
    for each in transforms or (xmlsec.Transform.ENVELOPED, xmlsec.Transform.EXCL_C14N):
        xmlsec.template.add_transform(reference, each)
    data = xmlsec.template.add_x509_data(xmlsec.template.ensure_key_info(signature))
    etree.SubElement(data, f"{{{DS}}}X509Certificate").text = key.certificate
    context = xmlsec.SignatureContext()
    context.key = xmlsec.Key.from_memory(key.private, xmlsec.KeyFormat.PEM)
    context.register_id(element, "ID")
    context.sign(signature)


def assertion_of(response: Any) -> Any:
    """Return a response's assertion."""
    return response.find("saml:Assertion", NAMES)


def packed(response: Any) -> str:
    """Return a SAML response, or its text, encoded as a browser posts it."""
    text = response if isinstance(response, bytes) else etree.tostring(response)
    return base64.b64encode(text).decode()


Lie = Callable[[Answer], None]


class IdentityProvider:
    """A provider with a URL, a signing key and people who can sign in."""

    def __init__(self) -> None:
        self.key = make_key()
        self.address = ""
        self.people: dict[str, Mapping[str, Sequence[str]]] = {}
        self.site = ""

    @property
    def entity(self) -> str:
        """The provider's entity id."""
        return f"{self.address}/metadata"

    def facts(self) -> dict[str, Any]:
        """Return the provider's entry in the setting DPGEO_SAML."""
        return {
            "id": "town",
            "name": "Town of Vessby",
            "entity_id": self.entity,
            "sso_url": f"{self.address}/sign-in",
            "certificates": [self.key.certificate],
            "roles": {"gis": "invented-house:steward", "heads": "invented-house:approver"},
        }

    def asked(self, address: str) -> Asked:
        """Return the SAML request contained in a URL to which the site has redirected a browser."""
        query = parse_qs(urlsplit(address).query)
        (packed_request,) = query["SAMLRequest"]
        request = etree.fromstring(zlib.decompress(base64.b64decode(packed_request), -15))
        return Asked(
            id=request.get("ID"),
            answer_to=request.get("AssertionConsumerServiceURL"),
            issuer=request.findtext("saml:Issuer", namespaces=NAMES),
            ticket=query["RelayState"][0],
            again=request.get("ForceAuthn") == "true",
        )

    def answer(self, asked: Asked, subject: str) -> Answer:
        """Return a true answer to a request, about the person with this subject."""
        return Answer(
            issuer=self.entity,
            audience=asked.issuer,
            recipient=asked.answer_to,
            destination=asked.answer_to,
            in_response_to=asked.id,
            confirmed_in_response_to=asked.id,
            subject=subject,
            attributes=self.people.get(subject, {}),
        )

    def signed(self, answer: Answer) -> Any:
        """Return `answer` as a SAML response with a signed assertion."""
        response = answer.response()
        sign(assertion_of(response), self.key)
        return response


@contextmanager
def running_identity_provider() -> Iterator[IdentityProvider]:
    """Run a SAML identity provider on 127.0.0.1."""
    provider = IdentityProvider()

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Show the page that asks the person who is signing in for their id."""
            self.show(
                '<form method="post"><label>Who are you? <input name="subject"></label>'
                '<button type="submit">Go on</button></form>'
            )

        def do_POST(self) -> None:
            """Show the page whose form posts the SAML response to the site."""
            length = int(self.headers["Content-Length"])
            (subject,) = parse_qs(self.rfile.read(length).decode())["subject"]
            asked = provider.asked(self.path)
            answer = packed(provider.signed(provider.answer(asked, subject)))
            self.show(
                f'<form method="post" action="{html.escape(asked.answer_to)}">'
                f'<input type="hidden" name="SAMLResponse" value="{answer}">'
                f'<input type="hidden" name="RelayState" value="{html.escape(asked.ticket)}">'
                '<button type="submit">Back to the maps</button></form>'
            )

        def show(self, body: str) -> None:
            page = f"<!doctype html><title>Town of Vessby</title>{body}".encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    provider.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
