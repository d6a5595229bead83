"""The schema by which the rows of an upload or of a registered folder are interpreted."""

from __future__ import annotations

from dpgeo.core.guarantees import Unit
from dpgeo.datasets.layers import regions_of
from dpgeo.datasets.models import Dataset, Upload
from dpgeo.ingest.schema import Columns, Schema


def confirmed_columns(upload: Upload) -> Columns:
    """Return the columns used to read an uploaded file: its own, or else its dataset's."""
    return Columns.from_json(upload.columns or upload.dataset.columns)


def schema_of(dataset: Dataset, columns: Columns) -> Schema:
    """Return the schema by which rows with these columns are interpreted. Raises InvalidInput."""
    return Schema(
        columns=columns,
        unit=Unit(dataset.unit),
        area=dataset.area,
        time_zone=dataset.time_zone,
        attributes=dataset.attributes,
        measures=dataset.measured,
        categories=dataset.categorised,
        regions=regions_of(dataset, columns.regions) if columns.region else None,
    )
