"""Private state of a series: how many contributions each person has used of those allowed.

The state after a period is one Parquet file (person_high, person_low, used) in the private storage.
Its name is derived from the period's job, the version of the data and the name of the previous
state, which together determine its content. So a second attempt writes the same bytes under the
same name, and a draw made from another state can be recognised. Only the newest state is kept.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Collection
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from dpgeo.core.errors import Conflict
from dpgeo.datasets.orphan_files import stored_names, sweep
from dpgeo.datasets.storage import open_stored, private_storage, remove, store
from dpgeo.engine.series_view import Allowances
from dpgeo.jobs.models import UNFINISHED
from dpgeo.releases.models import Release, Series

FOLDER = "series"

LINEAGE_LETTERS = 16
"""Number of hexadecimal digits in a file name that identify the previous state, by a hash."""


KEPT_AFTER_FAILURE = timedelta(days=30)
"""How long the state of a series is kept after the series has ended because a map failed.

Until then, the series can be resumed from this state.
"""


class StateMissing(Conflict):
    """Raised if the state that a period needs is not stored; the series then ends."""


def release_lineage(release: Release) -> str:
    """Return the part of a draw's name that stands for the state from which it was made.

    The part is empty for releases that read no state.
    """
    series = release.series
    if series is None or not series.is_paid_once:
        return ""
    # A committed draw has advanced the series to its next state, so the digits that identify the
    # previous state can only be read from the draw's name.
    if release.blob_name:
        return release.blob_name.split("-")[5][len(release.upload_id.hex) :]
    return hashlib.sha256(series.state_name.encode()).hexdigest()[:LINEAGE_LETTERS]


def state_name(release: Release) -> str:
    """Return the file name of a series' state after the map of `release` is drawn.

    The name also depends on the series' state before this draw.
    """
    return f"{FOLDER}/{release.job_id}-{release.upload_id.hex}-{release_lineage(release)}.parquet"


def load_allowances(release: Release, folder: Path) -> Allowances | None:
    """Return what each person may still add to a release's series, or None if it keeps no state.

    The previous state is copied to `folder`. Raises StateMissing.
    """
    series = release.series
    if series is None or not series.is_paid_once:
        return None
    name = state_name(release)
    erased = series.dataset.suppressions.values_list("person", flat=True)
    return Allowances(
        each=series.each,
        before=_fetch(series.state_name, folder) if series.state_name else None,
        erased=[bytes(one) for one in erased],
        keep=lambda path: _keep(name, path),
    )


def _fetch(name: str, folder: Path) -> Path:
    path = folder / "used-before.parquet"
    try:
        with open_stored(private_storage(), name) as stored, path.open("wb") as file:
            shutil.copyfileobj(stored, file)
    except FileNotFoundError:
        raise StateMissing(
            "What people have used of this series is not stored any more, so no further map can "
            "be drawn. Declare a new series."
        ) from None
    return path


def _keep(name: str, path: Path) -> None:
    """Store the series' state in the file `path`, unless an earlier attempt stored all of it."""
    storage = private_storage()
    if storage.exists(name):
        with storage.open(name, "rb") as stored:
            if stored.read() == path.read_bytes():
                return
        storage.delete(name)
    if store(storage, name, path) != name:
        raise OSError("Another process is storing this state.")


def series_advance(release: Release) -> bool:
    """Advance a release's series to the release's period; return False if it is at another period.

    Call it in the transaction that commits the release's draw, and roll back if it returns False.
    Raises StateMissing.
    """
    series = release.series
    if series is None:
        return True
    name, before = "", series.state_name
    if series.is_paid_once:
        name = state_name(release)
        if not private_storage().exists(name):
            raise StateMissing(
                "A map of this series was found, but not what people had used of the series "
                "after it, so no further map can be drawn. Declare a new series."
            )
    number = release.number or 0
    here = Series.objects.filter(pk=series.pk, drawn=number - 1, state_name=before)
    if not here.update(drawn=number, state_name=name):
        return False
    if before:
        transaction.on_commit(lambda: remove(private_storage(), before))
    return True


def has_state(series: Series) -> bool:
    """Return whether the state after a series' last drawn map is stored, or none is needed."""
    if not series.is_paid_once or not series.drawn:
        return True
    return bool(series.state_name) and private_storage().exists(series.state_name)


def states_sweep(waiting: Collection[UUID]) -> int:
    """Delete the stored states that no series needs any more; return how many.

    `waiting` are the ids of jobs whose draw is stored but not committed; their states are kept.
    """
    may_resume = Q(ending="failed", ended_at__gt=timezone.now() - KEPT_AFTER_FAILURE)
    for series in Series.objects.exclude(ended_at=None).exclude(may_resume | Q(state_name="")):
        undrawn = series.releases.filter(blob_name="", job__state__in=UNFINISHED)
        if series.job_id(series.drawn + 1) not in waiting and not undrawn.exists():
            # The series draws no further map, so its state, a list of people, is not needed.
            Series.objects.filter(pk=series.pk, drawn=series.drawn).update(state_name="")
    stored = [
        name
        for name in stored_names(private_storage(), FOLDER)
        if not any(name.startswith(f"{FOLDER}/{job}-") for job in waiting)
    ]
    named = set(Series.objects.values_list("state_name", flat=True))
    return sweep(private_storage(), stored, named)
