"""Page of one's own account: its password, and the sessions in which it is signed in."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import PasswordChangeForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from dpgeo.accounts.attempts import count_attempt
from dpgeo.accounts.devices import remember_device
from dpgeo.accounts.receivers import list_session
from dpgeo.accounts.second_factor import factors_of
from dpgeo.accounts.selectors import user_sessions
from dpgeo.accounts.services import session_end
from dpgeo.accounts.sign_in_limits import TOO_MANY_REQUESTS, WINDOW
from dpgeo.pages.desk.access import person
from dpgeo.pages.desk.confirming import confirmed
from dpgeo.pages.desk.datasets import REFUSED
from dpgeo.pages.desk.desk_form import DeskRenderer


class OwnPasswordForm(PasswordChangeForm):
    """Django's form for the old and the new password, rendered like the desk's forms."""

    default_renderer = DeskRenderer
    use_required_attribute = False


@sensitive_post_parameters()
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def account(request: HttpRequest) -> HttpResponse:
    """Show the user's sessions, and set a new password, which ends all other sessions.

    Attempts with a wrong old password are limited like failed sign-ins, so that somebody at an
    unlocked screen cannot guess it.
    """
    user = person(request)
    data: Any = request.POST or None
    status = 200
    if request.method == "POST":
        limit = settings.DPGEO_FAILED_SIGN_INS
        if count_attempt(f"own password of {user.pk}", limit, window=WINDOW) is not None:
            messages.error(
                request, gettext("Too many attempts; try again in a quarter of an hour.")
            )
            data, status = None, TOO_MANY_REQUESTS
    form = OwnPasswordForm(user, data)
    if data is not None:
        if form.is_valid():
            return _set_password(request, form)
        status = REFUSED
    context = {
        "nav": "account",
        "form": form,
        "factors": factors_of(user),
        "memberships": user.memberships.select_related("organisation").order_by(
            "organisation__name"
        ),
        "sessions": user_sessions(user),
        "here": request.session.session_key,
    }
    return render(request, "desk/account.html", context, status=status)


def _set_password(request: HttpRequest, form: OwnPasswordForm) -> HttpResponse:
    user = person(request)
    here = request.session.session_key
    form.save()
    for session in user_sessions(user).exclude(session_key=here or ""):
        session_end(session=session)
    update_session_auth_hash(request, form.user)
    list_session(user, request.session.session_key or "")
    messages.success(
        request, gettext("The new password is set, and all other sessions have ended.")
    )
    answer = redirect("desk-account")
    remember_device(request, answer, user)
    return answer


@login_required
@require_POST
@confirmed
def end_session(request: HttpRequest, session_id: int) -> HttpResponse:
    """End one of the user's own sessions."""
    session = get_object_or_404(user_sessions(person(request)), pk=session_id)
    session_end(session=session)
    messages.success(request, gettext("That session has ended."))
    return redirect("desk-account")
