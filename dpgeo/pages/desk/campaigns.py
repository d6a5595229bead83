"""Pages on which an organisation's plans of tasks (campaigns) are opened, shared, renamed, deleted.

A campaign is a stored list of tasks to be planned on one release.
"""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from dpgeo.accounts.selectors import visible_organisations
from dpgeo.crowdsourcing.models import Campaign
from dpgeo.crowdsourcing.selectors import visible_campaigns
from dpgeo.crowdsourcing.services import campaign_change, campaign_delete
from dpgeo.pages.desk.access import person, report

PAGE_CAMPAIGNS = 50


@login_required
@require_safe
@never_cache
def campaigns(request: HttpRequest) -> HttpResponse:
    """List the campaigns (stored lists of tasks) of the user's organisations, newest first."""
    user = person(request)
    if not visible_organisations(user).exists():
        raise Http404("No such page.")
    # Tasks are not loaded: a campaign may have thousands of tasks, and the list does not show them.
    stored = visible_campaigns(user).select_related("created_by").defer("plan")
    page = Paginator(stored, PAGE_CAMPAIGNS).get_page(request.GET.get("page"))
    context = {"nav": "campaigns", "page": page}
    return render(request, "desk/campaigns.html", context)


@login_required
@require_POST
def change(request: HttpRequest, campaign_id: str) -> HttpResponse:
    """Rename a campaign (a stored list of tasks), and set whether it is shared."""
    campaign = _own(request, campaign_id)
    name, shared = request.POST.get("name", ""), "shared" in request.POST
    with report(request, gettext("Saved: {name}.").format(name=name.strip())):
        campaign_change(campaign=campaign, name=name, shared=shared, by=person(request))
    return redirect("desk-campaigns")


@login_required
@require_POST
def delete(request: HttpRequest, campaign_id: str) -> HttpResponse:
    """Delete a campaign."""
    campaign = _own(request, campaign_id)
    campaign_delete(campaign=campaign, by=person(request))
    message = gettext("Deleted: {name}. Its link no longer works.")
    messages.success(request, message.format(name=campaign.name))
    return redirect("desk-campaigns")


def _own(request: HttpRequest, campaign_id: str) -> Campaign:
    """Return the campaign, a stored list of tasks, if it belongs to the user's organisations.

    Raises Http404 otherwise.
    """
    return get_object_or_404(visible_campaigns(person(request)), pk=campaign_id)
