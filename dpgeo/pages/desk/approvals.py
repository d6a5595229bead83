"""Page on which a second person approves budgets, and finds drafts that wait for approval."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from dpgeo.accounts.models import Organisation, Role
from dpgeo.accounts.selectors import may, visible_organisations
from dpgeo.datasets.dataset_budgets import proposal_approve
from dpgeo.datasets.models import Proposal
from dpgeo.datasets.proposals import lacks_second, proposal_decide, proposals_seen_by
from dpgeo.jobs.models import JobState
from dpgeo.pages.desk.access import person, report
from dpgeo.releases.models import Release
from dpgeo.releases.states import ReleaseState


@dataclass(frozen=True, slots=True)
class Alone:
    """An organisation that has too few members for a second person to approve budgets or maps."""

    organisation: Organisation
    budgets: bool
    maps: bool


@login_required
@require_safe
@never_cache
def approvals(request: HttpRequest) -> HttpResponse:
    """List the budgets and drafts of the user's organisations that wait for a second person."""
    user = person(request)
    strict = list(visible_organisations(user).filter(two_persons=True))
    if not strict:
        raise Http404("No such page.")
    waiting = Release.objects.filter(
        dataset__organisation__in=strict, state=ReleaseState.DRAFT, job__state=JobState.DONE
    ).exclude(blob_name="")
    drafts = waiting.select_related("dataset__organisation", "created_by").order_by("-created_at")
    alone = [
        Alone(each, lacks_second(each, Role.ADMINISTRATOR), lacks_second(each, Role.APPROVER))
        for each in strict
    ]
    context = {
        "nav": "approvals",
        "proposals": proposals_seen_by(user),
        "drafts": [each for each in drafts if may(user, each.dataset, "publish")],
        "alone": [each for each in alone if each.budgets or each.maps],
    }
    return render(request, "desk/approvals.html", context)


@login_required
@require_POST
@never_cache
def decide(request: HttpRequest, proposal_id: int) -> HttpResponse:
    """Approve or refuse a budget."""
    user = person(request)
    managed = [each.pk for each in visible_organisations(user)]
    proposals = Proposal.objects.filter(dataset__organisation__in=managed)
    proposal = get_object_or_404(proposals.select_related("dataset"), pk=proposal_id)
    if "approve" in request.POST:
        with report(request, gettext("Approved. The budget holds from now on.")):
            proposal_approve(proposal=proposal, by=user)
    else:
        with report(request, gettext("Refused. The budget stays as it was.")):
            proposal_decide(proposal=proposal, by=user, approve=False)
    return redirect("desk-approvals")
