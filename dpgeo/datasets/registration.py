"""Registration of folders and tables as the data of a dataset."""

from __future__ import annotations

from django.db import transaction

from dpgeo.accounts.models import User
from dpgeo.accounts.selectors import may, may_administer
from dpgeo.audit.models import EventKind
from dpgeo.audit.services import event_record
from dpgeo.core.errors import Conflict, InvalidInput, NotAllowed
from dpgeo.datasets.locations import find_location
from dpgeo.datasets.models import Dataset, Upload, UploadState
from dpgeo.datasets.postgresql.columns import does_not_grow
from dpgeo.datasets.postgresql.location import TableLocation
from dpgeo.datasets.snapshots import Snapshot
from dpgeo.datasets.sources import Location, clean_folder
from dpgeo.datasets.uploads import record_first_upload


def source_register(
    *, dataset: Dataset, location: object, folder: object, by: User | None, as_of: object = ""
) -> Upload:
    """Register a folder or a table as a dataset's data; its columns have to be confirmed next.

    `location` is a name in DPGEO_SOURCES. `as_of` names the column of a table that only grows, if
    there is one; a column named at an earlier registration need not be named again. `by` is None at
    the console. Administrators may register anything that DPGEO_SOURCES names for their
    organisation. Stewards may have the dataset's folder read again. API keys may do neither, since
    they could learn when files arrive. Raises NotAllowed, InvalidInput, or Conflict.
    """
    place = find_location(dataset.organisation.slug, str(location or "").strip())
    below = clean_folder(folder)
    again = (place.name, below) in registered(dataset)
    if by is not None and not (
        may_administer(by, dataset.organisation)
        or (again and not by.acting_key and may(by, dataset, "upload"))
    ):
        raise NotAllowed("Only the administrators of this organisation may do this.")
    if dataset.grows and registered(dataset) and not again:
        raise Conflict("Further files of this dataset come from the folder registered before.")
    files = place.files(below)
    growing = _growing(dataset, place, below, str(as_of or "").strip())
    with transaction.atomic():
        record_first_upload(dataset.pk)
        upload = Upload.objects.create(
            dataset=dataset,
            file_name=place.called(below)[-255:],
            size=sum(file.size for file in files),
            raw_name="",
            source=Snapshot(location=place.name, folder=below, as_of=growing).to_json(),
            created_by=by,
        )
        event_record(
            EventKind.DATASET,
            by=by,
            organisation=dataset.organisation_id,
            subject=dataset.slug,
            detail=f"registered {place.name}/{below}".rstrip("/"),
        )
    return upload


def registered(dataset: Dataset) -> set[tuple[str, str]]:
    """Return the locations and folders that were registered for a dataset."""
    facts = dataset.uploads.exclude(source={}).values_list("source", flat=True)
    return {(each["location"], each["folder"]) for each in facts}


def _growing(dataset: Dataset, place: Location, folder: str, named: str) -> str:
    """Return the column of a table that only grows: the one `named`, or else the one before.

    Returns "" if there is none. Raises InvalidInput or Conflict for a column that cannot tell which
    rows are new.
    """
    if not isinstance(place, TableLocation):
        if named:
            raise InvalidInput("Only a table has a column that only grows.", field="as_of")
        return ""
    earlier = dataset.uploads.filter(
        state=UploadState.READY, source__location=place.name, source__folder=folder
    )
    before = Snapshot.of(last).as_of if (last := earlier.first()) else ""
    growing = named or before
    if dataset.grows and not growing:
        raise Conflict(
            "Rows are added to this dataset, so name the column that tells which rows of the table "
            "are new; or declare that new data replace the old."
        )
    if dataset.grows and before and growing != before:
        raise Conflict(
            "The column {name!r} told which rows were read before; it cannot be another one now.",
            name=before,
        )
    if not growing.isprintable():
        # Refuse unprintable characters, because a name with a null character could not be stored.
        raise does_not_grow(growing)
    if growing:
        place.check_growing(folder, growing)
    return growing
