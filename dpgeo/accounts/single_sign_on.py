"""Single sign-on by OpenID Connect or SAML: who gets an account, and which roles.

The installation trusts a provider that it names in DPGEO_OIDC or DPGEO_SAML, and no other. At each
sign-in, users get the roles to which the settings map their groups, and lose a membership if no
group gives it any more. Organisations that the settings do not map stay as they are, and no group
makes anybody a superuser.

Argument. An account belongs to a pair of provider and subject, never to a name or an e-mail
address, because providers may give those to somebody else later. An existing account is found by
its address only if the settings say that the provider verifies addresses (`trust_email`). Accounts
of staff are never found this way, so whoever runs the provider does not run this site; nor are
accounts that already have a subject, since the address may be unproved or have a new owner; nor
those with a second factor. An account that is found loses its password: to refuse it would leave
people with passwords no way to single sign-on, and to keep the password would leave a way in that
the provider cannot close. A new account has no password. The claims of a sign-in are not stored.

Before a change to how an account is protected, users must prove again who they are (`AGAIN`):
somebody else may sit at an unlocked screen, with an open session at the provider. The provider is
told to check, but that request passes through the browser, which could remove the demand. So the
provider's response must state, under its signature, that the check happened after the request. A
sign-in, too, proves the user's identity only as of that stated time.
"""

from __future__ import annotations

import hashlib
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter, get_adapter
from allauth.socialaccount.models import SocialApp, SocialLogin
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from dpgeo.accounts.attempts import count_attempt
from dpgeo.accounts.fresh_tokens import CLOCKS_APART
from dpgeo.accounts.mail import sends_mail
from dpgeo.accounts.models import MailKind, Membership, Organisation, UsedAssertion, User
from dpgeo.accounts.outgoing_mail import mail_queue
from dpgeo.accounts.providers import (
    ENDPOINTS,
    Facts,
    account_claims,
    authenticated_at,
    claimed_roles,
    facts_of,
    signed_claims,
)
from dpgeo.accounts.rate_counters import address_of
from dpgeo.accounts.second_factor import has_second_factor, proof_record
from dpgeo.accounts.selectors import user_sessions
from dpgeo.accounts.services import membership_set, session_end
from dpgeo.accounts.sign_in_limits import WINDOW
from dpgeo.accounts.site_links import site_link
from dpgeo.audit.models import EventKind
from dpgeo.audit.origin import acting
from dpgeo.audit.services import event_record

SIGNATURES = [f"{family}{bits}" for family in ("RS", "PS", "ES") for bits in (256, 384, 512)]
"""Signature algorithms for ID tokens. All are asymmetric: only the provider has the private key."""

MAX_TOKEN_SECONDS = 600
"""Largest age of an ID token; a provider makes one for each sign-in, and they take no longer."""

AGAIN = "again"
"""Key of a time in the state that accompanies a request to a provider: when this site asked the
user to prove again who they are.
"""

NONCE = "nonce"
"""Key of the random text in that state that the provider must repeat in the ID token."""


class WrongSetUp(OAuth2Error):  # type: ignore[misc]
    """Raised if a provider's configuration is unusable or does not fit the settings. The text
    quotes nothing that the provider sent.
    """


class SocialAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """Takes providers from the settings alone, and decides who may sign in by them."""

    def list_apps(
        self, request: HttpRequest, provider: Any = None, client_id: Any = None
    ) -> list[SocialApp]:
        """Return the providers with this id or this protocol (`provider`), or all if it is None.

        allauth passes `client_id` when it restores a sign-in from the session, for instance after
        the second factor, and expects one provider. If two providers know this site by the same
        client id, either one serves, because the restored account itself names its provider.
        """
        apps = [social_app(each) for each in settings.DPGEO_OIDC]
        apps += [saml_app(each) for each in settings.DPGEO_SAML]
        found = [each for each in apps if provider in (None, each.provider, each.provider_id)]
        if client_id is None:
            return found
        return [each for each in found if each.client_id == client_id][:1]

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Connect a sign-in to an existing account and set its roles, or refuse the sign-in."""
        facts = facts_of(sociallogin.account.provider)
        claims = account_claims(sociallogin.account)
        if facts in settings.DPGEO_OIDC and not _answers_request(sociallogin):
            detail = "single sign-on: the ID token was made for another request"
            raise ImmediateHttpResponse(refuse(request, "failed", detail))
        # Drop the claimed addresses: allauth would connect any account that has one of them.
        sociallogin.email_addresses = []
        if not sociallogin.is_existing and (user := trusted_account(facts, claims)):
            account_take_over(request=request, login=sociallogin, user=user)
        if sociallogin.is_existing:
            if not sociallogin.user.is_active:
                raise ImmediateHttpResponse(_refuse_member(request))
            roles_set(user=sociallogin.user, facts=facts, claims=claims)
        if asked := (sociallogin.state.get("data") or {}).get(AGAIN):
            raise ImmediateHttpResponse(_confirm(request, sociallogin, asked))

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        """Allow a new account only for a user whose groups give a role; show others a page of
        refusal.
        """
        facts = facts_of(sociallogin.account.provider)
        if any(claimed_roles(facts, account_claims(sociallogin.account)).values()):
            return True
        raise ImmediateHttpResponse(_refuse_member(request))

    def save_user(self, request: HttpRequest, sociallogin: SocialLogin, form: Any = None) -> User:
        """Create the account, and give it the roles of its groups."""
        facts = facts_of(sociallogin.account.provider)
        with acting(_name(facts)):
            user: User = super().save_user(request, sociallogin, form)
        roles_set(user=user, facts=facts, claims=account_claims(sociallogin.account))
        return user

    def on_authentication_error(
        self, request: HttpRequest, *_: Any, exception: Exception | None = None, **__: Any
    ) -> None:
        """Show this site's own error page instead of allauth's."""
        if isinstance(exception, WrongSetUp):
            page = refuse(request, "set-up", f"single sign-on: {exception}")
        else:
            page = refuse(request, "failed")
        raise ImmediateHttpResponse(page)


def _answers_request(login: SocialLogin) -> bool:
    """Return whether an ID token repeats the nonce of this browser's request.

    OpenID Connect Core 1.0, section 3.1.3.7, rule 11. Without it, a code that somebody else got
    from the provider could be put into this browser's sign-in.
    """
    asked = str((login.state.get("data") or {}).get(NONCE) or "")
    repeated = str(signed_claims(login.account).get("nonce") or "")
    return bool(asked) and constant_time_compare(asked, repeated)


@transaction.atomic
def account_take_over(*, request: HttpRequest, login: SocialLogin, user: User) -> None:
    """Connect an existing account to a subject, and end all that opened the account before.

    Whoever knows the old password may not be who has the address now, so it must not stay a second
    way in beside the provider. The account's owner is told by mail, and the audit list keeps it.
    """
    with acting(_name(facts_of(login.account.provider))):
        login.connect(request, user)
        user.set_unusable_password()
        user.save(update_fields=["password"])
        for session in user_sessions(user):
            session_end(session=session)
        event_record(EventKind.PASSWORD, subject=str(user), detail="removed")
    if sends_mail():
        mail_queue(kind=MailKind.TAKEN_OVER, address=user.email, user=user)


def _confirm(request: HttpRequest, login: SocialLogin, asked: float) -> HttpResponse:
    """Record that the user has proved again who they are; refuse a proof from before `asked`.

    `asked` is when this site asked for the proof, in seconds since 1970.
    """
    if not login.is_existing or login.user != request.user:
        return refuse(request, "failed", "single sign-on: somebody else was confirmed")
    proved = authenticated_at(login.account)
    if proved is None or proved < asked - CLOCKS_APART:
        return refuse(request, "not-again", "single sign-on: the provider did not ask again")
    proof_record(request=request, user=login.user, at=proved)
    return redirect(login.get_redirect_url(request) or resolve_url("desk"))


def refuse(request: HttpRequest, reason: str, detail: str = "single sign-on") -> HttpResponse:
    """Return the page of a refusal, and record it in the audit list unless `detail` is empty.

    Strangers can cause refusals without limit, so only so many per network and WINDOW are recorded:
    DPGEO_FAILED_SIGN_INS, the limit for wrong passwords.
    """
    network, limit = address_of(request), settings.DPGEO_FAILED_SIGN_INS
    who = f"refused single sign-on from {network}"
    if detail and count_attempt(who, limit, window=WINDOW) is None:
        event_record(EventKind.SIGN_IN_FAILED, who="", detail=detail)
    return render(request, "registration/single_sign_on.html", {"reason": reason}, status=403)


def _refuse_member(request: HttpRequest) -> HttpResponse:
    return refuse(request, "no-role", "single sign-on: no role, or not active")


class OneCallback(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]
    """allauth's OpenID Connect client, with the same callback URL in every language.

    It refuses a provider that states another issuer, and a response without an ID token signed by
    the provider.
    """

    @property
    def openid_config(self) -> Facts:
        """Return the provider's discovery document. Raises WrongSetUp if it is unusable."""
        config: Facts = super().openid_config
        if not isinstance(config, dict):
            raise WrongSetUp("the provider does not describe itself")
        if lacking := [name for name in ENDPOINTS if not isinstance(config.get(name), str)]:
            raise WrongSetUp(f"the provider's description of itself has no {lacking[0]}")
        issuer = facts_of(self.provider_id)["server_url"].partition("/.well-known/")[0]
        if str(config.get("issuer")).rstrip("/") != issuer.rstrip("/"):
            raise WrongSetUp("the provider names another issuer than DPGEO_OIDC")
        return config

    def complete_login(
        self, request: HttpRequest, app: SocialApp, token: Any, **kwargs: Any
    ) -> SocialLogin:
        """Return the sign-in of the user whom the provider has confirmed.

        Raises OAuth2Error without an ID token, or if the claims are about another subject than the
        token's; allauth would accept both (OpenID Connect Core 1.0, sections 3.1.3.3 and 5.3.2).
        """
        if not kwargs["response"].get("id_token"):
            raise OAuth2Error("The provider's answer has no ID token.")
        login = super().complete_login(request, app, token, **kwargs)
        claims = login.account.extra_data
        if claims["userinfo"].get("sub") != claims["id_token"]["sub"]:
            raise OAuth2Error("The provider's claims are not about the subject of the ID token.")
        return login

    def _decode_id_token(self, app: SocialApp, id_token: str) -> Facts:
        """Return the claims of an ID token. Raises OAuth2Error unless it is signed and for this
        site.

        allauth does not check the signature of a token that came directly from the provider over
        https, and cannot check a token that names no key.
        """
        import jwt

        with get_adapter().get_requests_session() as session:
            answer = session.get(self.openid_config["jwks_uri"])
            answer.raise_for_status()
        try:
            named = jwt.get_unverified_header(id_token).get("kid")
            keys = jwt.PyJWKSet.from_dict(answer.json()).keys
            chosen = [each for each in keys if named in (None, each.key_id)]
        except (jwt.PyJWTError, AttributeError, ValueError) as error:
            raise OAuth2Error("The ID token or the provider's keys cannot be read.") from error
        for key in chosen:
            try:
                claims: Facts = jwt.decode(
                    id_token,
                    # Pass the key without its PyJWK object, which assumes an algorithm if the
                    # provider states none, as many do.
                    key=key.key,
                    algorithms=SIGNATURES,
                    audience=app.client_id,
                    issuer=self.openid_config["issuer"],
                    options={"require": ["exp", "iat", "sub"]},
                    leeway=CLOCKS_APART,
                )
                _check_token(claims, app.client_id)
                return claims
            except (
                jwt.InvalidSignatureError,
                jwt.InvalidKeyError,
                jwt.InvalidAlgorithmError,
                TypeError,  # raised by PyJWT if the key does not fit the algorithm
            ):
                continue
            except jwt.PyJWTError as error:
                raise OAuth2Error("The ID token is not for this site, or too old.") from error
        raise OAuth2Error("No key of the provider has signed the ID token.")

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:
        """Return the callback URL, which has to be registered with the provider."""
        names = {"provider_id": self.provider_id}
        path = reverse("openid_connect_callback", urlconf=settings.ROOT_URLCONF, kwargs=names)
        return site_link(path)


def _check_token(claims: Facts, client_id: str) -> None:
    """Check what PyJWT leaves open about an ID token: for whom and when it was made.

    OpenID Connect Core 1.0, section 3.1.3.7, rules 3 to 5 and 10. PyJWT has checked that this site
    is among the audiences, and that the token does not come from the future. Raises OAuth2Error.
    """
    audiences, party = claims["aud"], claims.get("azp")
    alone = isinstance(audiences, str) or len(audiences) == 1
    if party != client_id and not (alone and party is None):
        raise OAuth2Error("The ID token was made for another site.")
    if claims["iat"] < time.time() - MAX_TOKEN_SECONDS - CLOCKS_APART:
        raise OAuth2Error("The ID token is too old.")


def social_app(facts: Facts) -> SocialApp:
    """Convert a provider in DPGEO_OIDC to allauth's model."""
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


def saml_app(facts: Facts) -> SocialApp:
    """Convert a provider in DPGEO_SAML to allauth's model."""
    return SocialApp(
        provider="saml", provider_id=facts["id"], name=facts["name"], client_id=facts["id"]
    )


@transaction.atomic
def assertion_use(*, provider: str, assertion: str, until: int) -> bool:
    """Mark a SAML assertion as used, and return whether it was unused before.

    `until` is when it expires, in seconds since 1970; the mark is kept for a day longer, in case
    clocks differ.
    """
    now = timezone.now()
    UsedAssertion.objects.filter(until__lt=now - timedelta(days=1)).delete()
    digest = hashlib.sha256(f"{provider} {assertion}".encode()).hexdigest()
    end = datetime.fromtimestamp(until, tz=UTC)
    _, fresh = UsedAssertion.objects.get_or_create(digest=digest, defaults={"until": end})
    return fresh


def trusted_account(facts: Facts, claims: Facts) -> User | None:
    """Return the account with the e-mail address in a provider's claims, or None.

    It is also None if the address is not verified, if the settings do not trust the provider's
    addresses, or if several accounts have it. Inactive accounts, those of staff, those that already
    belong to a provider's subject and those with a second factor are left out: an address proves
    less than a second factor, and a passkey would go on opening the account.
    """
    if not facts.get("trust_email") or claims.get("email_verified") is not True:
        return None
    email = str(claims.get("email") or "-")
    if not email.isascii():
        # Do not compare letters beyond ASCII without regard to case: PostgreSQL, for instance, may
        # take a dotless i for an "i", so somebody else's account might be found.
        return None
    users = User.objects.filter(email__iexact=email, is_active=True, socialaccount=None)
    found = list(users.filter(is_staff=False, is_superuser=False)[:2])
    return found[0] if len(found) == 1 and not has_second_factor(found[0]) else None


@transaction.atomic
def roles_set(*, user: User, facts: Facts, claims: Facts) -> None:
    """Give a user the roles of their groups in the organisations that the provider's settings name.

    The user's membership in any of these organisations ends if no group gives a role there.
    """
    for slug, role in claimed_roles(facts, claims).items():
        organisation = Organisation.objects.filter(slug=slug).first()
        if organisation is None:
            continue
        with acting(_name(facts)):
            if role is not None:
                membership_set(organisation=organisation, user=user, role=role)
                continue
            for membership in Membership.objects.filter(organisation=organisation, user=user):
                membership.delete()


def _name(facts: Facts) -> str:
    """Return the name under which the audit list shows a provider; no account can have this
    name.
    """
    return f"single sign-on: {facts['id']}"
