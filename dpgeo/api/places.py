"""Search by place, on public study areas alone."""

from __future__ import annotations

from django.db.models import QuerySet

from dpgeo.api.queries import Box
from dpgeo.datasets.models import Dataset
from dpgeo.spatial.area import StudyArea


def datasets_near(datasets: QuerySet[Dataset], box: Box) -> list[int]:
    """Primary keys of the datasets whose study area's bounding box touches a box."""
    west, south, east, north = box
    near = []
    for key, geometry in datasets.order_by().values_list("pk", "study_area"):
        left, low, right, top = StudyArea.from_geojson(geometry).bounds
        if left <= east and right >= west and low <= north and top >= south:
            near.append(key)
    return near
