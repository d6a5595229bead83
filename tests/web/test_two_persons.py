"""Approval by a second person: whoever asked for a budget or a map never approves it."""

from __future__ import annotations

import itertools
from datetime import UTC
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from dpgeo.accounts.members import account_create, invitation_create
from dpgeo.accounts.models import Membership, Organisation, Role, Scope, User
from dpgeo.accounts.selectors import are_two_persons
from dpgeo.accounts.services import key_create
from dpgeo.audit.models import Event, EventKind
from dpgeo.budgets.services import Accounting
from dpgeo.core.errors import BudgetExceeded, Conflict, NotAllowed
from dpgeo.core.levels import make_level
from dpgeo.datasets.dataset_budgets import proposal_approve
from dpgeo.datasets.models import Dataset, Proposal
from dpgeo.datasets.proposals import lacks_second, proposal_decide
from dpgeo.datasets.services import dataset_update
from dpgeo.releases.models import Release
from dpgeo.releases.publication import publish_due
from dpgeo.releases.services import release_publish, release_reject
from tests.makers import make_dataset, make_ready, make_release, make_request, make_user
from tests.web.desk import PASSWORD, Desk, make_desk

pytestmark = pytest.mark.django_db

PAGE = "/desk/approvals/"


@pytest.fixture
def desk() -> Desk:
    desk = make_desk()
    Organisation.objects.filter(pk=desk.organisation.pk).update(two_persons=True)
    return desk


@pytest.fixture
def second(desk: Desk) -> User:
    return make_user(desk.organisation, Role.ADMINISTRATOR)


def proposed(desk: Desk, **facts: Any) -> tuple[Dataset, Proposal]:
    dataset = make_dataset(desk.organisation, created_by=desk.user, **facts)
    return dataset, dataset.proposals.get(decided_at=None)


def total_of(dataset: Dataset) -> Fraction:
    dataset.ledger.refresh_from_db()
    return dataset.ledger.total


def draft_of(desk: Desk, folder: Path, by: User, **changes: Any) -> Release:
    Organisation.objects.filter(pk=desk.organisation.pk).update(two_persons=False)
    dataset = make_dataset(desk.organisation)
    Organisation.objects.filter(pk=desk.organisation.pk).update(two_persons=True)
    make_ready(dataset, folder)
    return make_release(dataset, by=by, **changes)


def test_a_new_budget_holds_only_when_another_administrator_approves(
    desk: Desk, second: User, tmp_path: Path
) -> None:
    dataset, proposal = proposed(desk, budget=Fraction(3))
    make_ready(dataset, tmp_path)
    assert total_of(dataset) == 0
    with pytest.raises(BudgetExceeded):
        make_request(dataset, by=desk.user)
    with pytest.raises(NotAllowed, match="yourself"):
        proposal_approve(proposal=proposal, by=desk.user)
    assert total_of(dataset) == 0
    proposal_approve(proposal=proposal, by=second)
    assert total_of(dataset) == 3
    kinds = [EventKind.ASKED, EventKind.APPROVED]
    events = Event.objects.filter(kind__in=kinds).order_by("id")
    assert [(each.kind, each.subject, each.detail) for each in events] == [
        (kind, dataset.slug, "epsilon 3") for kind in kinds
    ]


def test_a_raise_waits_and_a_reduction_does_not(desk: Desk, second: User) -> None:
    dataset, proposal = proposed(desk, budget=Fraction(3))
    proposal_approve(proposal=proposal, by=second)
    dataset_update(dataset=dataset, changes={"budget": Fraction(2)})
    assert total_of(dataset) == 2
    dataset_update(dataset=dataset, changes={"budget": Fraction(4), "title": "Other"})
    dataset.refresh_from_db()
    assert total_of(dataset) == 2
    assert dataset.title == "Other"
    assert dataset.proposals.get(decided_at=None).total == 4


def test_a_budget_for_points_waits_too(desk: Desk, second: User) -> None:
    level = make_level("ln 16", 200)
    dataset = make_dataset(desk.organisation, created_by=desk.user, points_budget=level)
    assert not hasattr(dataset.ledger, "geo")
    assert dataset.proposals.count() == 2
    proposal = dataset.proposals.get(radius=200)
    assert proposal.total == level
    proposal_approve(proposal=proposal, by=second)
    dataset.ledger.refresh_from_db()
    assert dataset.ledger.geo.total_units == level.pico


def test_a_newer_proposal_ends_the_older_one(desk: Desk, second: User) -> None:
    dataset, old = proposed(desk, budget=Fraction(3))
    dataset_update(dataset=dataset, changes={"budget": Fraction(5)})
    with pytest.raises(Conflict):
        proposal_approve(proposal=old, by=second)
    proposal_approve(proposal=dataset.proposals.get(decided_at=None), by=second)
    assert total_of(dataset) == 5


def test_of_two_decisions_one_takes_effect(desk: Desk, second: User) -> None:
    dataset, proposal = proposed(desk, budget=Fraction(3))
    stale = Proposal.objects.get(pk=proposal.pk)
    proposal_decide(proposal=proposal, by=second, approve=False)
    third = make_user(desk.organisation, Role.ADMINISTRATOR)
    with pytest.raises(Conflict):
        proposal_approve(proposal=stale, by=third)
    assert total_of(dataset) == 0
    assert Event.objects.filter(kind=EventKind.REFUSED).count() == 1


def test_an_approval_that_cannot_be_set_leaves_the_proposal_open(desk: Desk, second: User) -> None:
    dataset, proposal = proposed(desk, budget=Fraction(3))
    Organisation.objects.filter(pk=desk.organisation.pk).update(most_epsilon=2)
    with pytest.raises(Conflict, match="at most epsilon 2"):
        proposal_approve(proposal=proposal, by=second)
    proposal.refresh_from_db()
    assert proposal.decided_at is None
    assert total_of(dataset) == 0


def invited(by: User, organisation: Organisation, name: str) -> User:
    """Return an administrator who made an account by accepting an invitation."""
    invitation, _ = invitation_create(
        organisation=organisation, email=f"{name}@example.org", role=Role.ADMINISTRATOR, by=by
    )
    return account_create(invitation=invitation, account=User(username=name))


def test_whoever_invites_accounts_stays_one_person(
    desk: Desk, second: User, tmp_path: Path
) -> None:
    """An account counts as the same person as its inviter until an operator vouches for it.

    This holds along any chain of invitations.
    """
    organisation = desk.organisation
    child = invited(desk.user, organisation, "child")
    sibling = invited(desk.user, organisation, "sibling")
    grandchild = invited(child, organisation, "grandchild")
    own = [desk.user, child, sibling, grandchild]
    for one, other in itertools.permutations(own, 2):
        assert not are_two_persons(one, other)
    for each in own:
        assert are_two_persons(each, second)
        assert are_two_persons(second, each)
    _, proposal = proposed(desk)
    draft = draft_of(desk, tmp_path, child)
    for each in (child, sibling, grandchild):
        with pytest.raises(NotAllowed, match="one person"):
            proposal_approve(proposal=proposal, by=each)
    for each in (desk.user, sibling, grandchild):
        with pytest.raises(NotAllowed, match="one person"):
            release_publish(release=draft, by=each)
    second.is_active = False
    second.save()
    assert lacks_second(organisation, Role.ADMINISTRATOR)
    User.objects.filter(pk=child.pk).update(vouched=True)
    assert not lacks_second(organisation, Role.ADMINISTRATOR)
    child, grandchild = (User.objects.get(pk=each.pk) for each in (child, grandchild))
    assert are_two_persons(child, desk.user)
    assert are_two_persons(grandchild, desk.user)
    assert not are_two_persons(grandchild, child)
    proposal_approve(proposal=proposal, by=child)
    # Nobody knows who invited this account, so it might be anybody's, and never counts as another
    # person.
    User.objects.filter(pk=sibling.pk).update(invited_by=None)
    assert not are_two_persons(User.objects.get(pk=sibling.pk), second)
    # An account that invited itself counts as no person; only an edited database can contain one.
    User.objects.filter(pk=sibling.pk).update(invited_by=sibling)
    assert not are_two_persons(User.objects.get(pk=sibling.pk), second)


def test_operators_vouch_for_accounts_and_the_audit_list_tells(desk: Desk) -> None:
    child = invited(desk.user, desk.organisation, "child")
    client = Client()
    client.force_login(User.objects.create_superuser("root", password=PASSWORD))
    address = f"/admin/accounts/user/{child.pk}/change/"
    form = client.get(address).context["adminform"].form
    joined = child.date_joined.astimezone(UTC)
    typed = {name: value for name, value in form.initial.items() if isinstance(value, str)}
    typed |= {"date_joined_0": f"{joined:%Y-%m-%d}", "date_joined_1": f"{joined:%H:%M:%S}"}
    assert client.post(address, {**typed, "is_active": "on", "vouched": "on"}).status_code == 302
    assert User.objects.get(pk=child.pk).vouched
    event = Event.objects.filter(kind=EventKind.ACCOUNT, detail="vouched").get()
    assert (event.who, event.subject) == ("root", "child")


def test_only_administrators_of_the_organisation_approve(desk: Desk, second: User) -> None:
    _, proposal = proposed(desk)
    approver = make_user(desk.organisation, Role.APPROVER)
    outsider = make_desk("Other house", "other").user
    former = make_user(desk.organisation, Role.ADMINISTRATOR)
    Membership.objects.filter(user=former).delete()
    for user in (approver, outsider, former):
        with pytest.raises(NotAllowed):
            proposal_approve(proposal=proposal, by=user)
    key, _ = key_create(
        organisation=desk.organisation, name="k", scopes=list(Scope.values), created_by=second
    )
    second.acting_key = key
    with pytest.raises(NotAllowed):
        proposal_approve(proposal=proposal, by=second)


def test_the_database_refuses_an_approval_by_whoever_asked(desk: Desk) -> None:
    _, proposal = proposed(desk)
    with pytest.raises(IntegrityError), transaction.atomic():
        Proposal.objects.filter(pk=proposal.pk).update(approved=True, decided_by=desk.user)


def test_whoever_asked_for_a_map_cannot_publish_it_but_may_reject_it(
    desk: Desk, second: User, tmp_path: Path
) -> None:
    draft = draft_of(desk, tmp_path, desk.user)
    with pytest.raises(NotAllowed, match="another approver"):
        release_publish(release=draft, by=desk.user)
    release_publish(release=draft, by=second)
    other = draft_of(desk, tmp_path, desk.user)
    release_reject(release=other, by=desk.user, reason="Not needed.")


def test_a_key_counts_as_its_owner(desk: Desk, second: User, tmp_path: Path) -> None:
    draft = draft_of(desk, tmp_path, desk.user)
    clients = []
    for user in (desk.user, second):
        _, secret = key_create(
            organisation=desk.organisation,
            name="k",
            scopes=[Scope.RELEASES_PUBLISH],
            created_by=user,
        )
        clients.append(Client(headers={"Authorization": f"Bearer {secret}"}))
    address = f"/api/v1/releases/{draft.pk}/publish"
    own, other = [client.post(address, {}, "application/json") for client in clients]
    assert own.status_code == 403
    assert "another approver" in own.json()["detail"]
    assert other.status_code == 200


def test_nothing_is_published_by_itself(desk: Desk, tmp_path: Path) -> None:
    draft = draft_of(desk, tmp_path, desk.user, publish_when_done=True)
    assert (draft.state, draft.publish_when_done) == ("draft", False)
    # publication was requested before two persons were required
    Release.objects.filter(pk=draft.pk).update(publish_when_done=True)
    draft.refresh_from_db()
    publish_due(draft)
    draft.refresh_from_db()
    assert draft.state == "draft"


def test_the_console_is_one_person(desk: Desk, second: User, tmp_path: Path) -> None:
    own = make_release(draft_of(desk, tmp_path, desk.user).dataset)
    with pytest.raises(NotAllowed):
        release_publish(release=own, by=None)
    release_publish(release=own, by=second)


def test_the_page_approves_for_the_second_and_takes_back_for_the_first(
    desk: Desk, second: User
) -> None:
    dataset, proposal = proposed(desk, budget=Fraction(3))
    assert "Take back" in desk.page(PAGE)
    desk.client.post(f"{PAGE}{proposal.pk}/", {"approve": ""})
    assert total_of(dataset) == 0
    client = Client()
    client.force_login(second)
    assert ">Approve<" in client.get(PAGE).content.decode()
    client.post(f"{PAGE}{proposal.pk}/", {"approve": ""})
    assert total_of(dataset) == 3
    other = make_desk("Other house", "other")
    assert other.client.get(PAGE).status_code == 404
    assert other.client.post(f"{PAGE}{proposal.pk}/").status_code == 404


def test_the_currency_of_an_approved_budget_stays(desk: Desk, second: User) -> None:
    """An approved budget cannot be changed from epsilon to rho.

    An epsilon at a delta promises less than the same epsilon without one.
    """
    dataset, proposal = proposed(desk, budget=Fraction(3))
    rho = {"accounting": Accounting(delta_exponent=9)}
    with pytest.raises(Conflict, match="second person"):
        dataset_update(dataset=dataset, changes=rho)
    proposal_approve(proposal=proposal, by=second)
    with pytest.raises(Conflict, match="second person"):
        dataset_update(dataset=dataset, changes=rho)
    assert total_of(dataset) == 3


def test_only_operators_lift_the_requirement_and_the_audit_list_tells(desk: Desk) -> None:
    operator = User.objects.create_superuser("root", password=PASSWORD)
    desk.user.is_staff = True
    desk.user.save()
    address = f"/admin/accounts/organisation/{desk.organisation.pk}/change/"
    typed = {
        "name": desk.organisation.name,
        "slug": "another",
        "memberships-TOTAL_FORMS": "0",
        "memberships-INITIAL_FORMS": "0",
    }
    desk.client.post(address, typed)
    stored = Organisation.objects.get(pk=desk.organisation.pk)
    assert stored.two_persons
    assert stored.slug == desk.organisation.slug
    assert not Event.objects.filter(kind=EventKind.SETTING).exists()
    client = Client()
    client.force_login(operator)
    client.post(address, typed)
    assert not Organisation.objects.get(pk=desk.organisation.pk).two_persons
    event = Event.objects.get(kind=EventKind.SETTING)
    assert (event.who, event.detail) == ("root", "two_persons: True > False")
