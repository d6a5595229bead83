"""Adapters by which django-allauth follows this site's rules."""

from __future__ import annotations

import base64
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.mfa.adapter import DefaultMFAAdapter
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.encoding import force_bytes

from dpgeo.accounts.devices import remember_device
from dpgeo.accounts.models import User
from dpgeo.accounts.providers import authenticated_at
from dpgeo.accounts.second_factor import proof_record
from dpgeo.accounts.site_links import site_name


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Rules for accounts: nobody can sign up uninvited, and each sign-in marks its device as known.

    Single sign-on proves who the user is as of the time at which the provider last checked, not as
    of the sign-in.
    """

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Return False: accounts come from administrators, invitations and single sign-on."""
        return False

    def add_message(self, *_: Any, **__: Any) -> None:
        """Show none of allauth's messages; the pages say what happened."""

    def post_login(self, request: HttpRequest, user: User, **facts: Any) -> HttpResponse:
        """Mark the device of a sign-in as known, and record when the user last proved who they are.

        The time is recorded only if a provider of single sign-on states it.
        """
        response: HttpResponse = super().post_login(request, user, **facts)
        remember_device(request, response, user)
        login = (facts.get("signal_kwargs") or {}).get("sociallogin")
        if login is not None and (proved := authenticated_at(login.account)) is not None:
            proof_record(request=request, user=user, at=proved)
        return response


class FactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Rules of second factors: their secrets are encrypted, with a key made from SECRET_KEY.

    Whoever reads only the database, for instance in a copy, can therefore generate no codes.
    """

    def encrypt(self, text: str) -> str:
        """Encrypt a secret for the database."""
        return _cipher().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """Decrypt a secret; return a random one, for which no code is right, if SECRET_KEY has
        changed.
        """
        try:
            return _cipher().decrypt(encrypted_text.encode()).decode()
        except InvalidToken:
            # SECRET_KEY has changed, so the secret cannot be read. With a random secret in its
            # place, every code is wrong, and the page shows the usual error for a wrong code.
            return base64.b32encode(Fernet.generate_key()).decode()

    def get_totp_issuer(self) -> str:
        """Return the name under which an authenticator app lists the account."""
        return f"dpgeo {site_name()}"


def _cipher() -> MultiFernet:
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return MultiFernet([Fernet(_derive(each)) for each in keys])


def _derive(key: str | bytes) -> bytes:
    derivation = HKDF(SHA256(), length=32, salt=None, info=b"dpgeo.accounts.second_factor")
    return base64.urlsafe_b64encode(derivation.derive(force_bytes(key)))
