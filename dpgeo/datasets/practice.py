"""Practice files about invented people in a dataset's own study area."""

from __future__ import annotations

import io
import secrets

import numpy as np

from dpgeo.accounts.models import User
from dpgeo.datasets.models import Dataset, Upload
from dpgeo.datasets.uploads import upload_receive
from dpgeo.spatial.invented_people import invent_people

PEOPLE = 3_000
FILE_NAME = "invented-people.csv"


def upload_practice(*, dataset: Dataset, created_by: User | None) -> Upload:
    """Upload a table of invented people. Raises the same errors as any upload."""
    return upload_receive(
        dataset=dataset,
        file=io.BytesIO(practice_table(dataset).encode()),
        file_name=FILE_NAME,
        created_by=created_by,
        invented=True,
    )


def practice_table(dataset: Dataset) -> str:
    """Return sightings of invented people in a dataset's area as CSV, in order of time.

    The people's names are new each time, so no two files are about the same people.
    """
    crowd = secrets.token_hex(4)
    invented = invent_people(dataset.area, PEOPLE)
    longitude, latitude = invented.degrees
    moments = np.datetime_as_string(invented.time.astype("datetime64[s]"))
    rows = [
        f"{crowd}-{person},{time}Z,{lon:.6f},{lat:.6f}"
        for person, time, lon, lat in zip(
            invented.person.tolist(),
            moments.tolist(),
            longitude.tolist(),
            latitude.tolist(),
            strict=True,
        )
    ]
    rows.sort(key=lambda row: row.split(",")[1])
    return "\n".join(["person,time,longitude,latitude", *rows, ""])
