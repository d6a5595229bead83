"""Single sign-on providers declared in the settings, and the claims that they make about users.

DPGEO_OIDC lists the providers that speak OpenID Connect, DPGEO_SAML those that speak SAML.
"""

from __future__ import annotations

import base64
import binascii
import re
from datetime import datetime
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from cryptography import x509
from django.conf import settings
from django.core import checks

from dpgeo.accounts.fresh_tokens import is_from_future
from dpgeo.accounts.models import Role
from dpgeo.accounts.selectors import RANK

NEEDED = ("id", "name", "server_url", "client_id", "secret")
"""Keys that every provider in DPGEO_OIDC must have."""

NEEDED_BY_SAML = ("id", "name", "entity_id", "sso_url", "certificates")
"""Keys that every provider in DPGEO_SAML must have."""

MAY_BE_SAID_OF_SAML = (
    *("site_id", "roles", "trust_email", "second_factor", "idp_initiated"),
    *("groups_claim", "subject_claim", "email_claim", "name_claim", "username_claim"),
)
"""Keys that a provider in DPGEO_SAML may have besides those in NEEDED_BY_SAML."""

ENDPOINTS = ("authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri")
"""URLs that an OpenID Connect provider must list in its own description (discovery document)."""

LOCAL = {"localhost", "127.0.0.1", "::1"}

Facts = dict[str, Any]


def providers() -> dict[str, Facts]:
    """Return the settings of all providers, by the provider's id."""
    return {each["id"]: each for each in [*settings.DPGEO_OIDC, *settings.DPGEO_SAML]}


def facts_of(provider: str) -> Facts:
    """Return the settings of a provider, given its id. Raises KeyError for an unknown id."""
    return providers()[provider]


def ways_in() -> list[Facts]:
    """Return each provider's id, its name, and the name of the URL pattern where sign-in begins."""
    routes = [("single-sign-on", settings.DPGEO_OIDC), ("saml", settings.DPGEO_SAML)]
    return [
        {"id": each["id"], "name": each["name"], "route": route}
        for route, listed in routes
        for each in listed
    ]


def account_claims(account: Any) -> Facts:
    """Return the claims that the provider made about the user at this sign-in, such as groups."""
    claims = getattr(account, "claims", account.extra_data)
    return {**claims.get("id_token", {}), **claims.get("userinfo", {})}


def signed_claims(account: Any) -> Facts:
    """Return those of the claims at this sign-in that the provider has signed."""
    claims: Facts = getattr(account, "claims", account.extra_data)
    return dict(claims.get("id_token", {}))


def authenticated_at(account: Any) -> float | None:
    """Return when the user last proved their identity to the provider, in seconds since 1970.

    Only a time that the provider has signed counts. Returns None if there is none, or if it is in
    the future.
    """
    moment = signed_claims(account).get("auth_time")
    if not isinstance(moment, int | float) or is_from_future(moment):
        return None
    return float(moment)


def drop_claims(sender: object, instance: Any, **_: Any) -> None:
    """Keep a sign-in's claims in memory only: allauth's record of it is stored without them."""
    if instance.extra_data:
        instance.claims = instance.extra_data
        instance.extra_data = {}


def claimed_roles(facts: Facts, claims: Facts) -> dict[str, Role | None]:
    """Return the user's role in each organisation that the provider's settings name.

    The result maps the organisation's slug to the role, or to None if none of the groups in the
    user's claims has a role there.
    """
    groups = claims.get(facts.get("groups_claim", "groups"), [])
    groups = {groups} if isinstance(groups, str) else set(groups)
    roles: dict[str, Role | None] = {}
    for group, mapped in facts.get("roles", {}).items():
        for each in [mapped] if isinstance(mapped, str) else mapped:
            slug, _, role = each.partition(":")
            best = roles.setdefault(slug, None)
            if group in groups and (best is None or RANK[Role(role)] > RANK[best]):
                roles[slug] = Role(role)
    return roles


def groups_in_use(facts: Facts) -> set[str]:
    """Return the groups of a provider to which the settings give a role."""
    return set(facts.get("roles", {}))


def ends_of_certificates(facts: Facts) -> list[datetime]:
    """Return when the certificates of a provider in DPGEO_SAML expire.

    Raises ValueError if a certificate cannot be read.
    """
    return [_certificate(each).not_valid_after_utc for each in facts["certificates"]]


def _certificate(text: str) -> x509.Certificate:
    """Parse a certificate in base64, with or without its BEGIN and END lines."""
    body = "".join(re.sub("-----[A-Z ]+-----", "", text).split())
    try:
        return x509.load_der_x509_certificate(base64.b64decode(body, validate=True))
    except binascii.Error:
        raise ValueError("a certificate is not base64") from None


@checks.register(checks.Tags.security)
def check_providers(**_: Any) -> list[checks.CheckMessage]:
    """Check that the settings DPGEO_OIDC and DPGEO_SAML are complete and valid."""
    found: list[checks.CheckMessage] = []
    for name, check, number in (
        ("DPGEO_OIDC", _check_oidc, "E002"),
        ("DPGEO_SAML", _check_saml, "E003"),
    ):
        try:
            for facts in getattr(settings, name):
                check(facts)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            found.append(
                checks.Error(
                    f"{name} cannot be used: {type(error).__name__}: {error}.",
                    hint="docs/sign-in.md has an example.",
                    id=f"dpgeo.accounts.{number}",
                )
            )
    if not found and len(providers()) < len(settings.DPGEO_OIDC) + len(settings.DPGEO_SAML):
        found.append(
            checks.Error(
                "Two providers of single sign-on have the same id.",
                hint="Accounts belong to a provider's id: give each its own.",
                id="dpgeo.accounts.E004",
            )
        )
    if settings.DPGEO_SAML and not (find_spec("onelogin") and find_spec("xmlsec")):
        found.append(
            checks.Error(
                "DPGEO_SAML needs packages that are not installed.",
                hint="Install those of locks/saml.txt, or dpgeo[saml].",
                id="dpgeo.accounts.E005",
            )
        )
    return found


def _check_oidc(facts: Facts) -> None:
    if missing := [name for name in NEEDED if not facts[name]]:
        raise ValueError(f"{missing[0]} is empty")
    _check_address(facts, "server_url")
    claimed_roles(facts, {"groups": list(facts.get("roles", {}))})


def _check_saml(facts: Facts) -> None:
    if missing := [name for name in NEEDED_BY_SAML if not facts[name]]:
        raise ValueError(f"{missing[0]} is empty")
    if unknown := facts.keys() - {*NEEDED_BY_SAML, *MAY_BE_SAID_OF_SAML}:
        raise ValueError(f"{min(unknown)} is not a setting")
    _check_address(facts, "sso_url")
    ends_of_certificates(facts)
    groups = facts.get("groups_claim", "groups")
    claimed_roles(facts, {groups: list(facts.get("roles", {}))})


def _check_address(facts: Facts, name: str) -> None:
    address = urlsplit(facts[name])
    if address.scheme != "https" and address.hostname not in LOCAL:
        raise ValueError(f"{name} must begin with https://")
