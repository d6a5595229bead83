"""The admin: links to the next step, own data only, and no changes to paid or frozen data."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from django.contrib.admin.utils import quote
from django.contrib.auth.models import Group, Permission
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from dpgeo.accounts.models import Membership, Organisation, Role, User
from dpgeo.accounts.selectors import role_in
from dpgeo.budgets.models import Entry
from dpgeo.datasets.models import Dataset, Upload
from dpgeo.jobs.models import Job
from dpgeo.releases.models import Release
from dpgeo.releases.states import ReleaseState
from tests.makers import make_dataset, make_organisation, make_ready, make_release, make_user

pytestmark = pytest.mark.django_db

ADD = "/admin/datasets/upload/add/"

LISTS = [
    "accounts_organisation",
    "budgets_entry",
    "budgets_ledger",
    "datasets_dataset",
    "datasets_upload",
    "jobs_job",
    "releases_release",
]


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Release:
    """Make a draft of a dataset with one upload.

    The draft's id has characters that the admin escapes.
    """
    ids = itertools.count()
    monkeypatch.setattr("secrets.token_urlsafe", lambda size: f"_5F-{next(ids)}_{'x' * size}")
    dataset = make_dataset(title="Bicycle trips")
    make_ready(dataset, tmp_path)
    return make_release(dataset, title="A week of trips")


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def member(dataset: Dataset, role: Role = Role.STEWARD) -> Client:
    return signed_in(make_user(dataset.organisation, role, is_staff=True))


def objects_of(release: Release) -> dict[str, object]:
    dataset = release.dataset
    return {
        "accounts_organisation": dataset.organisation.pk,
        "budgets_entry": Entry.objects.get(job=release.job_id).pk,
        "budgets_ledger": dataset.ledger.pk,
        "datasets_dataset": dataset.pk,
        "datasets_upload": release.upload_id,
        "jobs_job": release.job_id,
        "releases_release": quote(release.pk),
    }


def test_every_list_and_page_opens_for_a_steward_and_a_superuser(release: Release) -> None:
    for client in (
        member(release.dataset),
        signed_in(make_user(is_staff=True, is_superuser=True)),
    ):
        for name, key in objects_of(release).items():
            assert client.get(reverse(f"admin:{name}_changelist")).status_code == 200, name
            assert client.get(reverse(f"admin:{name}_change", args=[key])).status_code == 200, name


def make_release_of(dataset: Dataset, folder: Path) -> None:
    make_ready(dataset, folder)
    make_release(dataset, title=f"A week of {dataset.title}")


def test_strangers_on_the_staff_see_nothing_of_others(release: Release, tmp_path: Path) -> None:
    own = make_organisation()
    client = signed_in(make_user(own, Role.ADMINISTRATOR, is_staff=True))
    for title in ("Bicycle trips of the night", "Walks"):
        make_release_of(make_dataset(title=title), tmp_path)
    for title in ("Ferries", "Trams"):
        make_release_of(make_dataset(own, title=title), tmp_path)
    for name, key in objects_of(release).items():
        page = client.get(reverse(f"admin:{name}_changelist"))
        assert page.status_code == 200
        assert b"Bicycle trips" not in page.content, name
        assert b"A week of trips" not in page.content, name
        assert b"Walks" not in page.content, name
        change = client.get(reverse(f"admin:{name}_change", args=[key]), follow=True)
        assert b"Bicycle trips" not in change.content, name
        assert change.redirect_chain, name


@pytest.mark.parametrize(
    ("name", "lookup"),
    [
        ("datasets_dataset", "sealed_person_key__regex=."),
        ("datasets_dataset", "sealed_person_key__startswith=a"),
        ("releases_release", "salt__regex=."),
        ("releases_release", "blob_name__startswith=b"),
        ("datasets_upload", "raw_name__startswith=u"),
        ("datasets_upload", "canonical_name__startswith=c"),
        ("jobs_job", "lease__isnull=1"),
    ],
)
def test_hidden_facts_cannot_be_guessed_by_filtering(
    release: Release, name: str, lookup: str
) -> None:
    client = member(release.dataset, Role.ADMINISTRATOR)
    address = reverse(f"admin:{name}_changelist")
    assert client.get(f"{address}?{lookup}").status_code == 400


def test_people_without_an_organisation_or_staff_status_are_refused(release: Release) -> None:
    lonely = signed_in(make_user(is_staff=True))
    citizen = signed_in(make_user(release.dataset.organisation))
    for name in LISTS:
        assert lonely.get(reverse(f"admin:{name}_changelist")).status_code == 403, name
        assert citizen.get(reverse(f"admin:{name}_changelist")).status_code == 302, name


DECLARATION = {
    "title": "Ferries",
    "unit": "person",
    "licence": "CC0 1.0",
    "time_zone": "UTC",
    "west": "10",
    "south": "50",
    "east": "10.1",
    "north": "50.1",
    "budget": "2",
}


def test_a_steward_declares_without_a_budget_and_grants_none() -> None:
    organisation = make_organisation()
    client = signed_in(make_user(organisation, Role.STEWARD, is_staff=True))
    words = {**DECLARATION, "organisation": organisation.pk}
    address = reverse("admin:datasets_dataset_add")
    assert client.post(address, words).context["errors"].keys() == {"budget"}
    assert client.post(address, {**words, "budget": ""}).status_code == 302
    assert Dataset.objects.get().ledger.total == 0


def test_staff_of_others_declare_and_upload_nothing_here() -> None:
    dataset = make_dataset(make_organisation())
    stranger = signed_in(make_user(make_organisation(), Role.ADMINISTRATOR, is_staff=True))
    words = {**DECLARATION, "organisation": dataset.organisation.pk}
    assert stranger.post(reverse("admin:datasets_dataset_add"), words).status_code == 403
    file = SimpleUploadedFile("a.csv", b"lat,lon\n50,10\n")
    assert stranger.post(ADD, {"dataset": dataset.pk, "file": file}).status_code == 403
    assert stranger.get(f"{ADD}?dataset={dataset.pk}").status_code == 403
    assert stranger.get(f"{ADD}?dataset=987654321").status_code == 403
    lonely = signed_in(make_user(is_staff=True))
    assert lonely.get(ADD).status_code == 403
    assert not Upload.objects.exists()


def test_no_upload_without_the_pages_token() -> None:
    dataset = make_dataset(make_organisation())
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_user(dataset.organisation, Role.STEWARD, is_staff=True))
    file = SimpleUploadedFile("a.csv", b"lat,lon\n50,10\n")
    assert client.post(ADD, {"dataset": dataset.pk, "file": file}).status_code == 403
    assert not Upload.objects.exists()


def test_a_steward_changes_texts_and_not_frozen_facts(release: Release) -> None:
    dataset = release.dataset
    words = {"title": "Bicycles", "description": "", "licence": "CC0", "attribution": ""}
    answer = member(dataset).post(
        reverse("admin:datasets_dataset_change", args=[dataset.pk]),
        {**words, "unit": "record", "time_zone": "UTC", "slug": "other"},
    )
    assert answer.status_code == 302
    changed = Dataset.objects.get(pk=dataset.pk)
    assert (changed.title, changed.licence) == ("Bicycles", "CC0")
    assert (changed.unit, changed.time_zone, changed.slug) == (
        "person",
        "Europe/Berlin",
        dataset.slug,
    )


def test_nothing_paid_for_can_be_added_changed_or_deleted(release: Release) -> None:
    client = signed_in(make_user(is_staff=True, is_superuser=True))
    keys = objects_of(release)
    before = [model.objects.count() for model in (Entry, Job, Upload, Release, Dataset)]
    for name in ("budgets_entry", "budgets_ledger", "jobs_job"):
        assert client.get(reverse(f"admin:{name}_add")).status_code == 403, name
    for name in LISTS[1:]:
        delete = reverse(f"admin:{name}_delete", args=[keys[name]])
        assert client.post(delete, {"post": "yes"}).status_code == 403, name
    for name in ("budgets_entry", "budgets_ledger", "jobs_job", "releases_release"):
        change = reverse(f"admin:{name}_change", args=[keys[name]])
        assert client.post(change, {"total_units": 9, "state": "published"}).status_code == 403
    assert [model.objects.count() for model in (Entry, Job, Upload, Release, Dataset)] == before


def test_neither_exact_numbers_nor_stored_names_are_shown(release: Release) -> None:
    page = member(release.dataset).get(
        reverse("admin:datasets_upload_change", args=[release.upload_id])
    )
    assert b"Read. The desk has the report." in page.content
    assert b"200" not in page.content.split(b"Report (private)")[1][:300]
    assert release.upload.canonical_name.encode() not in page.content


def act(client: Client, release: Release, action: str) -> str:
    answer = client.post(
        reverse("admin:releases_release_act", args=[release.pk, action]), follow=True
    )
    return str(answer.content.decode())


def test_an_approver_publishes_and_withdraws_with_buttons(release: Release) -> None:
    client = member(release.dataset, Role.APPROVER)
    page = client.get(reverse("admin:releases_release_change", args=[quote(release.pk)]))
    publish = reverse("admin:releases_release_act", args=[release.pk, "publish"])
    assert publish in page.content.decode()
    assert "Published." in act(client, release, "publish")
    release.refresh_from_db()
    assert release.state == ReleaseState.PUBLISHED
    assert "Withdrawn." in act(client, release, "withdraw")
    release.refresh_from_db()
    assert release.state == ReleaseState.WITHDRAWN


def test_a_steward_has_no_button_to_publish_and_is_refused(release: Release) -> None:
    client = member(release.dataset)
    page = client.get(reverse("admin:releases_release_change", args=[quote(release.pk)]))
    publish = reverse("admin:releases_release_act", args=[release.pk, "publish"])
    assert publish not in page.content.decode()
    assert "approver" in act(client, release, "publish")
    release.refresh_from_db()
    assert release.state == ReleaseState.DRAFT


def test_a_strangers_button_finds_nothing(release: Release) -> None:
    client = signed_in(make_user(make_organisation(), Role.ADMINISTRATOR, is_staff=True))
    address = reverse("admin:releases_release_act", args=[release.pk, "publish"])
    assert client.post(address).status_code == 404
    assert client.get(address).status_code == 405


def membership_form(organisation: Organisation, newcomer: User) -> dict[str, object]:
    """Return the posted form data of an organisation with one more member."""
    fields: dict[str, object] = {"name": organisation.name, "slug": organisation.slug}
    rows = [
        *({"id": row.pk, "user": row.user_id, "role": row.role} for row in _members(organisation)),
        {"id": "", "user": newcomer.pk, "role": "approver"},
    ]
    for number, row in enumerate(rows):
        for name, value in {**row, "organisation": organisation.pk}.items():
            fields[f"memberships-{number}-{name}"] = value
    counts = {"TOTAL_FORMS": len(rows), "INITIAL_FORMS": len(rows) - 1}
    return fields | {f"memberships-{name}": count for name, count in counts.items()}


def _members(organisation: Organisation) -> list[Membership]:
    return list(organisation.memberships.order_by("pk"))


def test_only_superusers_set_members_here_and_administrators_see_them(
    release: Release,
) -> None:
    organisation, newcomer = release.dataset.organisation, make_user()
    address = reverse("admin:accounts_organisation_change", args=[organisation.pk])
    steward = member(release.dataset)
    assert steward.post(address, membership_form(organisation, newcomer)).status_code == 403
    assert role_in(newcomer, organisation) is None
    administrator = member(release.dataset, Role.ADMINISTRATOR)
    assert administrator.get(address).status_code == 200
    typed = {**membership_form(organisation, newcomer), "second_factor": "steward"}
    assert administrator.post(address, typed).status_code == 302
    assert role_in(newcomer, organisation) is None
    assert Organisation.objects.get(pk=organisation.pk).second_factor == ""
    root = signed_in(make_user(is_staff=True, is_superuser=True))
    assert root.post(address, membership_form(organisation, newcomer)).status_code == 302
    assert role_in(newcomer, organisation) == Role.APPROVER


def test_the_permission_to_change_accounts_or_groups_opens_none() -> None:
    root = make_user(is_staff=True, is_superuser=True)
    staff = make_user(make_organisation(), Role.ADMINISTRATOR, is_staff=True)
    staff.user_permissions.add(
        *Permission.objects.filter(content_type__model__in=["user", "group"])
    )
    group = Group.objects.create(name="officers")
    any_permission = Permission.objects.get(codename="view_event")
    staff.groups.add(group)
    client = signed_in(staff)
    before = User.objects.get(pk=root.pk).password
    for address in (
        reverse("admin:accounts_user_changelist"),
        reverse("admin:accounts_user_add"),
        reverse("admin:accounts_user_change", args=[staff.pk]),
        reverse("admin:accounts_user_delete", args=[root.pk]),
        reverse("admin:auth_user_password_change", args=[root.pk]),
        reverse("admin:auth_group_changelist"),
        reverse("admin:auth_group_add"),
        reverse("admin:auth_group_change", args=[group.pk]),
        reverse("admin:auth_group_delete", args=[group.pk]),
    ):
        assert client.get(address).status_code == 403, address
        typed = {"password1": "quite other words", "password2": "quite other words"}
        typed |= {"name": "all", "permissions": str(any_permission.pk)}
        assert client.post(address, {**typed, "is_superuser": "on"}).status_code == 403, address
    assert User.objects.get(pk=root.pk).password == before
    assert not User.objects.get(pk=staff.pk).is_superuser
    assert not group.permissions.exists()
    assert (
        signed_in(root).get(reverse("admin:auth_group_change", args=[group.pk])).status_code == 200
    )
