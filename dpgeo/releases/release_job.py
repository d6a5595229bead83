"""The job of a release: count, draw once, commit, write files.

Noise is drawn only in `private_draw`. A worker's draw is stored as one blob. The first blob whose
name is stored in `Release.blob_name` is final, and a later draw is deleted. All further steps read
the blob, never the data. Discarded draws are never logged.
"""

from __future__ import annotations

from datetime import UTC

from django.conf import settings

from dpgeo.artefacts.codec import (
    UnwritableRelease,
    check_encodable,
    check_public_part,
    encode,
)
from dpgeo.artefacts.files import planned_files, write_files
from dpgeo.artefacts.picture_names import NAMES
from dpgeo.budgets.selectors import points_ledger
from dpgeo.core.epsilon import format_epsilon
from dpgeo.core.errors import Conflict
from dpgeo.core.parameters import layers_named
from dpgeo.core.released import Released
from dpgeo.core.series import Part
from dpgeo.core.zcdp import delta_text
from dpgeo.datasets.declaration import STATED
from dpgeo.datasets.erasure import DataChanged
from dpgeo.datasets.layers import domain_of
from dpgeo.datasets.models import Dataset
from dpgeo.datasets.names_on_maps import names_for_pictures
from dpgeo.datasets.storage import private_storage, remove, work_folder
from dpgeo.jobs.lease import JobLease
from dpgeo.phrases import Phrase
from dpgeo.privacy.mechanism import run
from dpgeo.releases import files
from dpgeo.releases.blobs import commit_blob, has_stored_blob, new_blob_name, recover_draw
from dpgeo.releases.models import Release
from dpgeo.releases.private_draw import broken_off, read_and_draw, store_draw, stored_bound
from dpgeo.releases.publication import publish_due
from dpgeo.releases.reconciliation import pay_for_replaced
from dpgeo.releases.released_layers import license_declarations
from dpgeo.releases.requests import stored_request
from dpgeo.releases.selectors import load_released
from dpgeo.spatial.zones import Zones


def work_on(release_id: str, lease: JobLease) -> None:
    """Complete a release: draw if there is no draw yet, write the files, publish if requested.

    Raises UnwritableRelease if this installation cannot write any release, or cannot write the
    public texts of this one. That error reveals nothing about the data, since it is raised before
    anything is opened or drawn, and it costs nothing. An installation that cannot write releases
    may not be able to read them either, so it does not recover a stored draw of an earlier attempt.
    Reconciliation recovers it later, and the job is not refunded.
    """
    release = Release.objects.select_related(
        "dataset__ledger", "upload", "created_by", "series"
    ).get(pk=release_id)
    if not release.blob_name:
        try:
            check_encodable()
            if not recover_draw(release, lease):
                check_describable(release)
                check_replaced_paid(release, lease)
                commit(release, draw(release, lease), lease)
        except UnwritableRelease:
            if has_stored_blob(release.job_id):
                # Prevent a refund of this job, since an earlier attempt may have drawn noise.
                lease.set_drawing()
            raise
    if not release.rules.served:
        return
    build_files(release, lease)
    if release.rules.public:
        files.make_public(release)
    elif release.publish_when_done and not settings.DPGEO_JOB_SLOTS:
        # If the ends of jobs are hidden from API keys (DPGEO_JOB_SLOTS), the reaper publishes the
        # release once they may know that the job has ended.
        lease.step(Phrase("Publishing"))
        publish_due(release)


def check_describable(release: Release) -> None:
    """Raise UnwritableRelease if a release's description of its request cannot be written.

    The check depends on public facts alone. It is made before the draw, because a failure after a
    draw is never refunded.
    """
    layers = domain_of(release.dataset, layers_named(stored_request(release).params)).layers
    zones = [layer for layer in layers.values() if isinstance(layer, Zones)]
    check_public_part(
        release.request.parameters,
        about(release),
        release.dataset.area,
        sum(layer.most_header_bytes for layer in zones),
    )


def check_replaced_paid(release: Release, lease: JobLease) -> None:
    """Raise Conflict if the budget does not pay for a second draw of a release.

    There may be a first draw that was not committed because a person was erased from its data, or
    one that a restored database does not contain. The release's debit then pays for that first
    draw, and is not refunded.
    """
    if not pay_for_replaced(release):
        # A job that is marked as drawing is not refunded when it fails, so its debit goes on paying
        # for the first draw.
        lease.set_drawing()
        raise Conflict(
            "A draw of this release was found that was made before a person was erased. The budget "
            "does not pay for another one, so what it cost stays spent; request a new release once "
            "the budget allows it."
        )


def draw(release: Release, lease: JobLease) -> Released:
    """Draw a release's noisy counts or perturbed points once. Raises as `read_and_draw` does."""
    request = stored_request(release)
    mechanism = request.definition
    words = about(release)
    return read_and_draw(
        release,
        release.upload,
        lease,
        lambda view, params, entropy: run(
            mechanism,
            view,
            params,
            request.amount,
            entropy,
            words,
            request.bounding,
            request.totals_plan,
            delta=request.delta,
            bound_percent=request.choose_bound,
            stored=stored_bound(release),
        ),
    )


def about(release: Release) -> dict[str, str]:
    """Return the public texts that are stored in the blob and therefore appear in every file."""
    dataset = release.dataset
    return {
        "title": release.title,
        "description": release.description,
        "requested_on": release.created_at.astimezone(UTC).date().isoformat(),
        "dataset": dataset.title,
        "dataset_slug": dataset.slug,
        "publisher": dataset.organisation.name,
        "publisher_sector": dataset.organisation.sector,
        "contact": dataset.contact_address,
        **{name: getattr(dataset.declaration, name) for name in STATED},
        **_total(release),
        "request": release.request.model_dump_json(),
        **_series(release),
        **_points_total(release),
        **license_declarations(release),
        **_names(dataset),
    }


def _total(release: Release) -> dict[str, str]:
    """Return what a privacy statement says about the dataset's total budget for counts, by field.

    If the budget is in rho, its epsilon is the one to which the total rho amounts at delta.
    """
    ledger, units = release.dataset.ledger, release.total_units
    facts = {"dataset_total_epsilon": format_epsilon(ledger.epsilon_of(units))}
    if ledger.delta is None:
        return facts
    return facts | {
        "dataset_total_rho": ledger.rho_text(units),
        "dataset_delta": delta_text(ledger.delta),
    }


def _series(release: Release) -> dict[str, str]:
    """Return public facts about the release's series, by field; {} if it belongs to none."""
    series = release.series
    if series is None or release.number is None:
        return {}
    part = Part(str(series.pk), series.title, release.number, series.first_day, series.terms)
    return part.facts()


def _names(dataset: Dataset) -> dict[str, str]:
    """Return place names to print on a map's pictures, as an entry of a release's facts.

    It is {} if no place in the dataset's area is known by name.
    """
    found = names_for_pictures(dataset.area)
    return {NAMES: found} if found else {}


def _points_total(release: Release) -> dict[str, str]:
    """Return what a privacy statement says about the total budget for perturbed points, by field.

    It is {} if the dataset has no such budget.
    """
    points = points_ledger(release.dataset.ledger)
    units = release.points_total_units
    if points is None or units is None:
        return {}
    return {
        "dataset_points_epsilon": format_epsilon(points.epsilon_of(units)),
        "dataset_points_level": points.amount(units),
        "dataset_points_radius": str(points.radius),
        "dataset_points_input_step": str(points.snapping),
    }


def commit(release: Release, released: Released, lease: JobLease | None = None) -> None:
    """Store a draw and commit it; delete it if another draw was committed before.

    `lease` is the lease of the worker that runs the job, if a worker does.

    A draw is also deleted if a person was erased from the data while it was made. DataChanged is
    then raised, and the job draws again from the new version. As when a worker is killed during a
    draw (`private_draw`), this costs nothing more: nobody saw the draw, and the erasure did not
    depend on its noise.

    Raises Conflict for a draw that cannot be encoded or stored. Its cost stays spent: such a
    failure may depend on the noise and on the data, so a refund would reveal something. Everything
    that can be checked without the draw is checked before it is made (`check_encodable`,
    `check_describable`).
    """
    try:
        blob = encode(released)
    except Exception as error:
        raise broken_off(release, error) from None
    name = store_draw(release, new_blob_name(release), blob)
    if lease:
        lease.unstored_draw = False
    if not commit_blob(release, name, blob, bound=released.bound):
        remove(private_storage(), name)
        if not release.blob_name:
            raise DataChanged


def build_files(release: Release, lease: JobLease) -> None:
    """Build from the committed blob the files that the site itself reads, and list all others.

    Files that are stored already are not stored again.
    """
    lease.step(Phrase("Writing files"))
    with work_folder() as folder:
        planned = planned_files(load_released(release))
        built = write_files([file for file in planned if file.at_once], folder)
        files.list_files(release, [file for file in planned if not file.at_once])
        for number, file in enumerate(built, 1):
            step = Phrase("Writing files {number} of {count}", number=number, count=len(built))
            lease.step(step, number - 1, len(built))
            files.keep_file(release, file)
