"""Single sign-on by OpenID Connect: who gets an account, and which roles.

The installation trusts a provider that it names in DPGEO_OIDC, and no other. Whoever signs in gets
the roles to which the provider's groups are mapped, at each sign-in anew: a group that was left
ends the membership. Organisations that no group names are not touched, and no group makes anybody a
superuser.

Argument. An account belongs to the pair of provider and subject (`sub`), never to a name or an
e-mail address, which providers hand out again. An account that existed before is connected by its
address only if the installation says that the provider has verified it (`trust_email`); never if it
may enter the administration, so that whoever runs the provider does not run this site; and never if
it has a subject already, whose address may have been claimed without proof, or have a new owner. A
new account has no password. The claims of a sign-in are not stored.
"""

from __future__ import annotations

from typing import Any

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialApp, SocialLogin
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest
from django.shortcuts import render
from django.urls import reverse

from dpgeo.accounts.models import Membership, Organisation, User
from dpgeo.accounts.providers import Facts, claims_of, facts_of, roles_of
from dpgeo.accounts.services import membership_set
from dpgeo.audit.models import EventKind
from dpgeo.audit.services import event_record


class SocialAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """Takes providers from DPGEO_OIDC alone, and decides who may sign in by them."""

    def list_apps(
        self, request: HttpRequest, provider: Any = None, client_id: Any = None
    ) -> list[SocialApp]:
        """Return the providers with an id; all if none is given."""
        apps = [app_of(each) for each in settings.DPGEO_OIDC]
        return [each for each in apps if provider in (None, each.provider, each.provider_id)]

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Connect an account, or refuse, and set the roles of an account that exists."""
        facts = facts_of(sociallogin.account.provider)
        claims = claims_of(sociallogin.account)
        sociallogin.email_addresses = []  # allauth would look for other accounts with them
        if not sociallogin.is_existing and (user := trusted_account(facts, claims)):
            sociallogin.connect(request, user)
        if sociallogin.is_existing:
            if not sociallogin.user.is_active:
                raise ImmediateHttpResponse(_refuse(request, "no-role"))
            roles_set(user=sociallogin.user, facts=facts, claims=claims)

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        """Allow an account for whoever has a role; refuse everybody else with a page."""
        facts = facts_of(sociallogin.account.provider)
        if any(roles_of(facts, claims_of(sociallogin.account)).values()):
            return True
        raise ImmediateHttpResponse(_refuse(request, "no-role"))

    def save_user(self, request: HttpRequest, sociallogin: SocialLogin, form: Any = None) -> User:
        """Create the account, with its roles."""
        user: User = super().save_user(request, sociallogin, form)
        facts = facts_of(sociallogin.account.provider)
        roles_set(user=user, facts=facts, claims=claims_of(sociallogin.account))
        return user

    def on_authentication_error(self, request: HttpRequest, *_: Any, **__: Any) -> None:
        """Show a page of ours."""
        raise ImmediateHttpResponse(_refuse(request, "failed"))


def _refuse(request: HttpRequest, reason: str) -> Any:
    event_record(EventKind.SIGN_IN_FAILED, who="", detail="single sign-on")
    return render(request, "registration/single_sign_on.html", {"reason": reason}, status=403)


class OneCallback(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]
    """allauth's client of a provider, with one address to come back to in every language.

    It refuses a provider that describes itself as another one.
    """

    @property
    def openid_config(self) -> Facts:
        """Return the provider's description of itself. Raises OAuth2Error for another issuer."""
        config: Facts = super().openid_config
        issuer = facts_of(self.provider_id)["server_url"].partition("/.well-known/")[0]
        if config.get("issuer", "").rstrip("/") != issuer.rstrip("/"):
            raise OAuth2Error("The provider names another issuer than DPGEO_OIDC.")
        return config

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:
        """Return the address that the provider has on its list."""
        names = {"provider_id": self.provider_id}
        path = reverse("openid_connect_callback", urlconf=settings.ROOT_URLCONF, kwargs=names)
        return request.build_absolute_uri(path)


def app_of(facts: Facts) -> SocialApp:
    """Return a provider of DPGEO_OIDC in allauth's form."""
    return SocialApp(
        provider="openid_connect",
        provider_id=facts["id"],
        name=facts["name"],
        client_id=facts["client_id"],
        secret=facts["secret"],
        settings={
            "server_url": facts["server_url"],
            "oauth_pkce_enabled": True,
            "scope": facts.get("scopes", ["openid", "profile", "email"]),
        },
    )


def trusted_account(facts: Facts, claims: Facts) -> User | None:
    """Return the one account with a verified address, if the installation trusts the provider."""
    if not facts.get("trust_email") or claims.get("email_verified") is not True:
        return None
    email = str(claims.get("email") or "-")
    if not email.isascii():
        return None  # PostgreSQL finds "i" for a dotless one in another domain, for instance
    users = User.objects.filter(email__iexact=email, is_active=True, socialaccount=None)
    found = list(users.filter(is_staff=False, is_superuser=False)[:2])
    return found[0] if len(found) == 1 else None


@transaction.atomic
def roles_set(*, user: User, facts: Facts, claims: Facts) -> None:
    """Give a user the roles of their groups, and end memberships without one."""
    for slug, role in roles_of(facts, claims).items():
        organisation = Organisation.objects.filter(slug=slug).first()
        if organisation is None:
            continue
        if role is not None:
            membership_set(organisation=organisation, user=user, role=role)
            continue
        for membership in Membership.objects.filter(organisation=organisation, user=user):
            membership.delete()
