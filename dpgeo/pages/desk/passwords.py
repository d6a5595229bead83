"""Password reset with a limited number of requests per hour."""

from __future__ import annotations

import math
from typing import Any

from django.conf import settings
from django.contrib.auth.forms import PasswordResetForm
from django.contrib.auth.views import PasswordResetConfirmView, PasswordResetView
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.utils.translation import ngettext

from dpgeo.accounts.attempts import count_attempt
from dpgeo.accounts.fresh_tokens import reset_tokens
from dpgeo.accounts.mail import sends_mail
from dpgeo.accounts.models import MailKind
from dpgeo.accounts.outgoing_mail import mail_queue
from dpgeo.accounts.rate_counters import address_of

HOUR = 3600
LETTERS_AN_HOUR = 3
"""Largest number of e-mails to one mailbox per hour.

Further e-mails are silently dropped, because the page must not reveal whether an account exists.
"""

TOO_MANY_REQUESTS = 429


class AskForPassword(PasswordResetView):
    """Django's password reset page, with limits per client address and per mailbox.

    The page exists only if the site can send mail.
    """

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Raise Http404 if the site cannot send mail."""
        if not sends_mail():
            raise Http404
        return super().dispatch(request, *args, **kwargs)

    def post(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        """Answer 429 with Retry-After if the client's address is over its limit."""
        sender = f"password from {address_of(request)}"
        wait = count_attempt(sender, settings.DPGEO_PASSWORDS_AN_HOUR, window=HOUR)
        if wait is None:
            return super().post(request, *args, **kwargs)
        form = self.get_form()
        minutes = math.ceil(wait / 60)
        words = ngettext(
            "Too many requests from here; try again in {minutes} minute.",
            "Too many requests from here; try again in {minutes} minutes.",
            minutes,
        )
        form.add_error(None, words.format(minutes=minutes))
        answer: HttpResponseBase = self.render_to_response(self.get_context_data(form=form))
        answer.status_code = TOO_MANY_REQUESTS
        answer.headers["Retry-After"] = str(math.ceil(wait))
        return answer  # type: ignore[return-value]

    def form_valid(self, form: PasswordResetForm) -> HttpResponse:
        """Have the e-mail sent unless the mailbox is over its limit; the response is the same
        either way.
        """
        address = form.cleaned_data["email"]
        mailbox = f"password for {address.casefold()}"
        limit = LETTERS_AN_HOUR if settings.DPGEO_PASSWORDS_AN_HOUR else 0
        if count_attempt(mailbox, limit, window=HOUR) is None:
            mail_queue(kind=MailKind.PASSWORD, address=address)
        return HttpResponseRedirect(self.get_success_url())


class SetPassword(PasswordResetConfirmView):
    """Django's page that sets a password, by links that a changed clock does not keep valid."""

    token_generator = reset_tokens
