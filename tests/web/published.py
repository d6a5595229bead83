"""Releases with given content for a given dataset, stored without a draw from data."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

from django.utils import timezone

from dpgeo.accounts.models import Membership, Organisation, Role, User
from dpgeo.budgets.selectors import ledger_for, points_ledger
from dpgeo.budgets.services import budget_debit
from dpgeo.core.guarantees import Notion, whole_units
from dpgeo.core.released import Released
from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.services import dataset_create
from dpgeo.jobs.models import Job, JobState
from dpgeo.releases.models import Release, make_public_id
from dpgeo.releases.publication import publish
from dpgeo.releases.release_job import commit
from dpgeo.releases.services import release_reject, release_withdraw
from dpgeo.spatial.area import StudyArea
from tests.maps import keep_files
from tests.unit.artefacts.releases import TRIANGLE, grid_release

REASON = "Too little stands out from the noise."


def make_organisation(slug: str = "example-city") -> Organisation:
    """Make an organisation that publishes releases."""
    return Organisation.objects.get_or_create(
        slug=slug,
        defaults={"name": slug.replace("-", " ").title(), "contact": f"{slug}@example.org"},
    )[0]


def make_member(organisation: Organisation, name: str, role: Role = Role.STEWARD) -> User:
    """Make a member of an organisation."""
    user = User.objects.create_user(name)
    Membership.objects.create(organisation=organisation, user=user, role=role)
    return user


def make_dataset(
    organisation: Organisation | None = None, area: StudyArea = TRIANGLE, **facts: Any
) -> Dataset:
    """Make a dataset as if its owner had declared it."""
    return dataset_create(
        **{
            "organisation": organisation or make_organisation(),
            "title": "Walks",
            "licence": "CC BY 4.0",
            "unit": "person",
            "study_area": area.to_geojson(),
            "time_zone": "UTC",
            "budget": Fraction(2),
            "created_by": None,
            "at_console": True,
            **facts,
        }
    )


def install(
    dataset: Dataset,
    released: Released | None = None,
    *,
    published: bool = True,
    withdrawn: bool = False,
    rejected: bool = False,
    pk: str = "",
    **private: Any,
) -> Release:
    """Store a release with the given content, by default a small map; `pk` is its id, if given.

    `private` has values for private fields of the upload, which no response may contain.
    """
    released = released or grid_release()
    notion = released.guarantee.notion
    points = points_ledger(dataset.ledger)
    upload = Upload.objects.create(
        dataset=dataset,
        state=UploadState.READY,
        **{"file_name": "secret-name.csv", "size": 1, "raw_name": "raw", **private},
    )
    release = Release.objects.create(
        pk=pk or make_public_id(),
        dataset=dataset,
        upload=upload,
        title=released.about["title"],
        description=released.about["description"],
        mechanism=released.mechanism,
        request=released.request,
        notion=notion.value,
        cost_units=whole_units(notion, released.guarantee.amount),
        delta_exponent=dataset.ledger.delta_exponent if notion is Notion.ZCDP else None,
        total_units=dataset.ledger.total_units,
        points_total_units=points.total_units if points else None,
        bound=released.bound,
        job=Job.objects.create(
            task="releases.run", state=JobState.DONE, finished_at=timezone.now()
        ),
        salt=b"salt",
    )
    ledger = ledger_for(dataset.ledger, notion)
    cost = released.guarantee
    budget_debit(ledger=ledger, job=release.job_id, cost=cost, what=release.title, who="a test")
    commit(release, released)
    with tempfile.TemporaryDirectory() as folder:
        keep_files(release, released, Path(folder))
    if rejected:
        return release_reject(release=release, by=None, reason=REASON)
    if published or withdrawn:
        publish(release)
    if withdrawn:
        release_withdraw(release=release, by=None)
    return release
