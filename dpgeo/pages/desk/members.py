"""Pages for members: who belongs to an organisation, roles, invitations, and leaving."""

from __future__ import annotations

from typing import Any

from allauth.account.internal.flows.login import perform_login, record_authentication
from allauth.account.models import Login
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import UserCreationForm
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dpgeo.accounts.attempts import count_attempt
from dpgeo.accounts.mail import sends_mail
from dpgeo.accounts.members import (
    account_create,
    find_invitation,
    invitation_accept,
    invitation_create,
    invitation_withdraw,
    membership_change,
    membership_end,
    second_factor_demand,
)
from dpgeo.accounts.models import Invitation, Membership, Organisation, Role, User
from dpgeo.accounts.rate_counters import address_of
from dpgeo.accounts.selectors import may_administer, visible_organisations
from dpgeo.accounts.site_links import site_link
from dpgeo.core.errors import DpgeoError
from dpgeo.pages.desk.access import person, report
from dpgeo.pages.desk.confirming import confirmed, confirmed_form, kept_entries
from dpgeo.pages.desk.datasets import REFUSED
from dpgeo.pages.desk.desk_form import DeskForm, DeskRenderer
from dpgeo.pages.rendering import say

HELD = "invitation"
"""Key under which a session stores the secret of an invitation."""

ROLES = [(role, _(role.label)) for role in Role]


class InviteForm(DeskForm):
    """The form that says whom to invite, and with which role."""

    email = forms.CharField(
        label=_("E-mail address"), widget=forms.EmailInput(attrs={"autocomplete": "off"})
    )
    role = forms.ChoiceField(label=_("Role"), choices=ROLES)


class DemandForm(DeskForm):
    """The form that says from which role on members need a second factor."""

    role = forms.ChoiceField(
        label=_("Needed by"),
        required=False,
        choices=[
            ("", _("nobody: members may choose")),
            (Role.ADMINISTRATOR, _("administrators")),
            (Role.APPROVER, _("approvers and administrators")),
            (Role.STEWARD, _("all members")),
        ],
        help_text=_("Members without one are asked to set it up before they can go on."),
    )


class RoleForm(DeskForm):
    """The form for a member's role."""

    role = forms.ChoiceField(choices=ROLES)


class AccountForm(UserCreationForm):  # type: ignore[type-arg]
    """The form for the account of somebody who was invited: its name and password."""

    default_renderer = DeskRenderer
    use_required_attribute = False

    class Meta:
        model = User
        fields = ("username",)


def managed(request: HttpRequest, slug: str) -> Organisation:
    """Return an organisation that the user administers. Raises Http404 otherwise."""
    organisation = get_object_or_404(visible_organisations(request.user), slug=slug)
    if not may_administer(request.user, organisation):
        raise Http404("No such page.")
    return organisation


@login_required
@require_safe
@never_cache
def organisations(request: HttpRequest) -> HttpResponse:
    """Redirect to the members of the organisation that the user administers, or list several."""
    mine = [
        each for each in visible_organisations(request.user) if may_administer(request.user, each)
    ]
    if not mine:
        raise Http404("No such page.")
    if len(mine) == 1:
        return redirect("desk-members", mine[0].slug)
    return render(request, "desk/organisations.html", {"nav": "members", "organisations": mine})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@confirmed_form
def members(request: HttpRequest, slug: str) -> HttpResponse:
    """List members and open invitations, and invite somebody."""
    organisation = managed(request, slug)
    form = InviteForm(request.POST or None)
    if request.method == "GET":
        kept_entries(request, form)
    link = ""
    if request.method == "POST" and form.is_valid():
        try:
            link = _invite(request, organisation, form)
        except DpgeoError as refusal:
            form.add_refusal(refusal)
        else:
            if not link:
                return redirect("desk-members", slug)
            form = InviteForm()
    context = {
        "nav": "members",
        "organisation": organisation,
        "memberships": organisation.memberships.select_related("user").order_by("user__username"),
        "invitations": organisation.invitations.prefetch_related("mail"),
        "roles": ROLES,
        "form": form,
        "link": link,
        "demand": DemandForm(initial={"role": organisation.second_factor}, prefix="demand"),
    }
    return render(request, "desk/members.html", context, status=REFUSED if form.errors else 200)


def _invite(request: HttpRequest, organisation: Organisation, form: InviteForm) -> str:
    """Invite somebody by mail; without a mail server, return the link for the user to hand over."""
    email, role = form.cleaned_data["email"], Role(form.cleaned_data["role"])
    user = person(request)
    _, secret = invitation_create(
        organisation=organisation, email=email, role=role, by=user, by_mail=sends_mail()
    )
    if not sends_mail():
        return site_link(reverse("invitation-link", args=[secret]))
    messages.success(request, gettext("The invitation is on its way."))
    return ""


@login_required
@require_POST
@confirmed
def change_role(request: HttpRequest, slug: str, membership_id: int) -> HttpResponse:
    """Change a member's role."""
    organisation = managed(request, slug)
    membership = get_object_or_404(organisation.memberships, pk=membership_id)
    form = RoleForm(request.POST)
    if form.is_valid():
        role = Role(form.cleaned_data["role"])
        _do(request, membership_change, membership=membership, role=role)
    return redirect("desk-members", slug)


@login_required
@require_POST
@confirmed
def remove(request: HttpRequest, slug: str, membership_id: int) -> HttpResponse:
    """End somebody's membership."""
    organisation = managed(request, slug)
    membership = get_object_or_404(organisation.memberships, pk=membership_id)
    _do(request, membership_end, membership=membership)
    return redirect("desk-members", slug)


@login_required
@require_POST
@confirmed
def withdraw(request: HttpRequest, slug: str, invitation_id: int) -> HttpResponse:
    """Withdraw an invitation."""
    organisation = managed(request, slug)
    invitation = get_object_or_404(organisation.invitations, pk=invitation_id)
    _do(request, invitation_withdraw, invitation=invitation)
    return redirect("desk-members", slug)


@login_required
@require_POST
@confirmed
def demand(request: HttpRequest, slug: str) -> HttpResponse:
    """Set from which role on members need a second factor."""
    organisation = managed(request, slug)
    form = DemandForm(request.POST, prefix="demand")
    if form.is_valid():
        role = form.cleaned_data["role"]
        _do(request, second_factor_demand, organisation=organisation, role=role)
    return redirect("desk-members", slug)


@login_required
@require_POST
def leave(request: HttpRequest, membership_id: int) -> HttpResponse:
    """End the user's own membership of an organisation."""
    membership = get_object_or_404(Membership, pk=membership_id, user=person(request))
    _do(request, membership_end, membership=membership)
    return redirect("desk-account")


def _do(request: HttpRequest, service: Any, **facts: Any) -> None:
    with report(request, gettext("Saved.")):
        service(**facts, by=person(request))


@require_safe
@never_cache
def invitation_link(request: HttpRequest, secret: str) -> HttpResponse:
    """Store an invitation's secret in the session, so that later URLs and logs do not contain
    it.
    """
    if find_invitation(secret) is None:
        request.session.pop(HELD, None)  # Strangers with a wrong secret get no session.
    else:
        request.session[HELD] = secret
    return redirect("invitation")


@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def invitation(request: HttpRequest) -> HttpResponse:
    """Show an invitation, and accept it with the user's own account or a new one."""
    found = find_invitation(request.session.get(HELD, ""))
    if found is None:
        return render(request, "registration/invitation.html", {"gone": True}, status=404)
    user = request.user
    form = AccountForm(request.POST or None) if not user.is_authenticated else None
    if request.method == "POST" and (form is None or form.is_valid()):
        if isinstance(user, User):
            return _accept(request, found, user)
        if form is not None:
            return _begin(request, found, form)
    context = {"invitation": found, "form": form, "role": _(Role(found.role).label)}
    status = REFUSED if form is not None and form.errors else 200
    return render(request, "registration/invitation.html", context, status=status)


def _accept(request: HttpRequest, found: Invitation, user: User) -> HttpResponse:
    request.session.pop(HELD, None)
    with report(request):
        invitation_accept(invitation=found, user=user)
    return redirect("desk")


def _begin(request: HttpRequest, found: Invitation, form: AccountForm) -> HttpResponse:
    """Make an account for somebody who was invited, and sign them in."""
    limit = settings.DPGEO_FAILED_SIGN_INS
    if count_attempt(f"accounts from {address_of(request)}", limit, window=3600) is not None:
        messages.error(request, gettext("Too many requests from here; try again later."))
        return redirect("invitation")
    try:
        account = _account_create(found, form)
    except DpgeoError as refusal:
        messages.error(request, say(refusal))
        return redirect("invitation")
    request.session.pop(HELD, None)
    record_authentication(request, account, "password")
    answer: HttpResponse = perform_login(request, Login(user=account))
    return answer


def _account_create(found: Invitation, form: AccountForm) -> User:
    account: User = form.save(commit=False)
    # Only a link that was mailed proves that the address belongs to whoever opens it.
    account.email = found.email if sends_mail() else ""
    return account_create(invitation=found, account=account)
