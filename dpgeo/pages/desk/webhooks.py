"""Page for listing, creating and deleting webhooks, and for their latest deliveries."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from dpgeo.accounts.models import Organisation
from dpgeo.accounts.selectors import may_administer, visible_organisations
from dpgeo.core.errors import DpgeoError
from dpgeo.pages.desk.access import person, report
from dpgeo.pages.desk.confirming import confirmed_form, kept_entries
from dpgeo.pages.desk.datasets import REFUSED
from dpgeo.pages.desk.desk_form import DeskForm
from dpgeo.webhooks.models import Delivery
from dpgeo.webhooks.sending import Outcome
from dpgeo.webhooks.services import (
    delivery_repeat,
    webhook_create,
    webhook_end,
    webhooks_managed_by,
)

SHOWN_DELIVERIES = 50

OUTCOMES = {
    Outcome.NO_NAME: _("its name is unknown"),
    Outcome.PRIVATE: _("its address is not public"),
    Outcome.NO_ANSWER: _("no answer"),
    Outcome.NO_TLS: _("no valid certificate"),
}
"""Words that say why a message got no response with an HTTP status."""


class WebhookForm(DeskForm):
    """The form for a new webhook."""

    url = forms.CharField(
        max_length=500, label=_("Address"), help_text=_("Such as https://hooks.example.org/maps.")
    )
    organisation = forms.ModelChoiceField(
        queryset=Organisation.objects.none(), empty_label=None, label=_("Tells of the maps of")
    )

    def __init__(self, data: Any, *, organisations: QuerySet[Organisation]) -> None:
        super().__init__(data)
        choice: Any = self.fields["organisation"]
        choice.queryset = organisations


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@confirmed_form
def webhooks(request: HttpRequest) -> HttpResponse:
    """List the webhooks of the organisations that the user administers.

    A new webhook's secret is shown only once, in the response to the form.
    """
    user = person(request)
    mine = visible_organisations(user)
    managed = mine.filter(pk__in=[each.pk for each in mine if may_administer(user, each)])
    if not managed.exists():
        raise Http404("No such page.")
    form = WebhookForm(request.POST or None, organisations=managed)
    if request.method == "GET":
        kept_entries(request, form)
    secret = _make(request, form) if request.method == "POST" and form.is_valid() else ""
    hooks = webhooks_managed_by(user)
    deliveries = Delivery.objects.filter(webhook__in=hooks).select_related("webhook")
    context = {
        "nav": "webhooks",
        "form": WebhookForm(None, organisations=managed) if secret else form,
        "secret": secret,
        "webhooks": hooks,
        "deliveries": [
            (each, OUTCOMES.get(Outcome(each.outcome)) if each.outcome in OUTCOMES else "")
            for each in deliveries[:SHOWN_DELIVERIES]
        ],
    }
    return render(request, "desk/webhooks.html", context, status=REFUSED if form.errors else 200)


def _make(request: HttpRequest, form: WebhookForm) -> str:
    """Create the webhook and return its secret; "" if the form has errors."""
    try:
        return webhook_create(**form.cleaned_data, by=person(request))[1]
    except DpgeoError as refusal:
        form.add_refusal(refusal)
        return ""


@login_required
@require_POST
def delete(request: HttpRequest, webhook_id: int) -> HttpResponse:
    """Delete a webhook."""
    user = person(request)
    webhook_end(webhook=get_object_or_404(webhooks_managed_by(user), pk=webhook_id), by=user)
    messages.success(request, gettext("Deleted. Nothing is sent there any more."))
    return redirect("desk-webhooks")


@login_required
@require_POST
def repeat(request: HttpRequest, delivery_id: UUID) -> HttpResponse:
    """Send a webhook's message again."""
    user = person(request)
    deliveries = Delivery.objects.filter(webhook__in=webhooks_managed_by(user))
    delivery = get_object_or_404(deliveries.select_related("webhook__organisation"), pk=delivery_id)
    with report(request, gettext("The message is being sent again.")):
        delivery_repeat(delivery=delivery, by=user)
    return redirect("desk-webhooks")
