"""Files of invented people in a dataset's own study area, to try the site without real data."""

from __future__ import annotations

import csv
import io
import secrets
from collections.abc import Iterator

import numpy as np

from dpgeo.accounts.models import User
from dpgeo.core.attributes import Attribute
from dpgeo.core.categories import Category
from dpgeo.core.guarantees import Unit
from dpgeo.datasets.layers import regions_of
from dpgeo.datasets.models import Dataset, Upload
from dpgeo.datasets.uploads import upload_receive
from dpgeo.ingest.schema import Columns
from dpgeo.spatial.invented_people import InventedPeople, invent_people

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

    There is a column for everything that the dataset declares. The people's names are new each
    time, so no two files are about the same people.
    """
    crowd = secrets.token_hex(4)
    invented = invent_people(dataset.area, PEOPLE)
    longitude, latitude = invented.degrees
    columns = {
        "person": [f"{crowd}-{person}" for person in invented.person.tolist()],
        "time": [
            f"{time}Z"
            for time in np.datetime_as_string(invented.time.astype("datetime64[s]")).tolist()
        ],
        "longitude": [f"{each:.6f}" for each in longitude.tolist()],
        "latitude": [f"{each:.6f}" for each in latitude.tolist()],
    }
    for name, values in _declared(dataset, invented):
        columns.setdefault(name, values)
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(columns)
    rows = list(zip(*columns.values(), strict=True))
    table.writerows(rows[number] for number in np.argsort(invented.time, kind="stable").tolist())
    return text.getvalue()


def _declared(dataset: Dataset, invented: InventedPeople) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the values (n,) of each declared column beyond person, position and time.

    Numbers grow from the west of the area to its middle and fall again towards the east; the values
    of categories and the destinations of trips are random.
    """
    random = np.random.default_rng(1)
    share = invented.share(dataset.area)
    for measure in dataset.measured:
        steps = random.binomial(measure.steps, share)
        if measure.is_answer:
            yield measure.column, np.where(steps, "yes", "no").tolist()
        else:
            values = measure.low + (measure.high - measure.low) * steps / measure.steps
            yield measure.column, [f"{each:.10g}" for each in values.tolist()]
    listed: list[Category | Attribute] = [*dataset.categorised, *dataset.attributes]
    for words in listed:
        chosen = random.integers(0, len(words.values), len(invented.person))
        yield words.column, [words.values[number] for number in chosen.tolist()]
    ends = Columns.from_json(dataset.columns or {})
    if ends.has_destination(Unit(dataset.unit)):
        order = random.permutation(len(invented.person))
        for name, degrees in zip(
            (ends.destination_longitude, ends.destination_latitude), invented.degrees, strict=True
        ):
            yield name, [f"{each:.6f}" for each in degrees[order].tolist()]
    if ends.region:
        points = list(regions_of(dataset, ends.regions).points)
        chosen = random.integers(0, len(points), len(invented.person))
        yield ends.region, [points[number] for number in chosen.tolist()]
    if ends.place:
        yield ends.place, random.integers(1, 100, len(invented.person)).astype(str).tolist()
