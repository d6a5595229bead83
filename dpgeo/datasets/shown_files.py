"""Record that a file's page was opened, with the study area that its dataset had then.

A file's page shows its rows, and an area that is drawn around the rows shows where they end. If the
area of the same dataset is replaced afterwards, this is recorded (`services.dataset_update`). But
somebody could instead declare another dataset with a tighter area, and leave no such record.
Therefore the opening of a file's page is recorded apart from the dataset, once for each dataset and
area, and the privacy statements of datasets that the organisation declares later say how many such
records of other areas there were.

The record depends on what members do, and not on any file: neither on its bytes nor on whether it
can be read. If the record showed whether two files are the same, then somebody who knows all rows
but one could learn from a statement whether that row is there.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from dpgeo.datasets.models import ShownFile, Upload


def upload_shown(*, upload: Upload) -> None:
    """Record that a member opens an upload's page under the dataset's current study area.

    Files of invented people are not recorded. If the same area is recorded already, only the day is
    updated.
    """
    if upload.invented:
        return
    dataset = upload.dataset
    today = timezone.now().astimezone(datetime.UTC).date()
    shown, _ = ShownFile.objects.get_or_create(
        organisation_id=dataset.organisation_id,
        dataset=dataset.pk,
        area=area_digest(dataset.study_area),
        defaults={"on": today},
    )
    ShownFile.objects.filter(pk=shown.pk, on__lt=today).update(on=today)


def seen_before(organisation_id: int, study_area: Mapping[str, Any]) -> dict[str, Any]:
    """Return under how many areas but `study_area` an organisation opened files, as `areas`.

    An area counts once for each dataset that had it. `on` is the last day on which a file was
    opened under one of them. Returns {} if there are none.
    """
    shown = ShownFile.objects.filter(organisation=organisation_id)
    days = shown.exclude(area=area_digest(study_area)).values_list("on", flat=True)
    return {"areas": len(days), "on": max(days).isoformat()} if days else {}


def area_digest(study_area: Mapping[str, Any]) -> str:
    """Return a digest of a study area."""
    return hashlib.sha256(json.dumps(study_area, sort_keys=True).encode()).hexdigest()
