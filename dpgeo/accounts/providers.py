"""Providers of single sign-on as DPGEO_OIDC names them, and what they say about somebody."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core import checks

from dpgeo.accounts.models import Role
from dpgeo.accounts.selectors import RANK

NEEDED = ("id", "name", "server_url", "client_id", "secret")
"""What DPGEO_OIDC says about every provider."""

LOCAL = {"localhost", "127.0.0.1", "::1"}

Facts = dict[str, Any]


def facts_of(provider: str) -> Facts:
    """Return what DPGEO_OIDC says about a provider. Raises KeyError for an unknown one."""
    return {each["id"]: each for each in settings.DPGEO_OIDC}[provider]


def claims_of(account: Any) -> Facts:
    """Return what the provider said about somebody at this sign-in."""
    claims = getattr(account, "claims", account.extra_data)
    return {**claims.get("id_token", {}), **claims.get("userinfo", {})}


def drop_claims(sender: object, instance: Any, **_: Any) -> None:
    """Keep the claims in memory only, before an account is stored."""
    if instance.extra_data:
        instance.claims = instance.extra_data
        instance.extra_data = {}


def roles_of(facts: Facts, claims: Facts) -> dict[str, Role | None]:
    """Return the role in each organisation that DPGEO_OIDC names, by the organisation's slug."""
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


@checks.register(checks.Tags.security)
def check_providers(**_: Any) -> list[checks.CheckMessage]:
    """Check that DPGEO_OIDC can be used."""
    try:
        for facts in settings.DPGEO_OIDC:
            _check(facts)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        return [
            checks.Error(
                f"DPGEO_OIDC cannot be used: {type(error).__name__}: {error}.",
                hint="docs/sign-in.md has an example.",
                id="dpgeo.accounts.E002",
            )
        ]
    return []


def _check(facts: Facts) -> None:
    if missing := [name for name in NEEDED if not facts[name]]:
        raise ValueError(f"{missing[0]} is empty")
    address = urlsplit(facts["server_url"])
    if address.scheme != "https" and address.hostname not in LOCAL:
        raise ValueError("server_url must begin with https://")
    roles_of(facts, {"groups": list(facts.get("roles", {}))})
