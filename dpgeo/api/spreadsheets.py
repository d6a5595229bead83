"""View of a layer as CSV for spreadsheets, converted on request from the layer's CSV file."""

from __future__ import annotations

from typing import Annotated

from django.http import HttpResponse
from django.utils.cache import get_conditional_response
from drf_spectacular.utils import OpenApiResponse
from rest_framework import exceptions
from rest_framework.request import Request

from dpgeo.api.access import check_served
from dpgeo.api.base import ApiView
from dpgeo.api.files import cache_control, disposition, file_of, get_release
from dpgeo.api.heavy_work import heavy
from dpgeo.api.openapi import operation
from dpgeo.api.queries import choice, schema
from dpgeo.artefacts import csv
from dpgeo.artefacts.spreadsheet import MAX_BYTES, MEDIA_TYPE, for_spreadsheets
from dpgeo.core.declared import Declared, fact
from dpgeo.datasets.storage import open_stored

POINT, COMMA = "point", "comma"


class SpreadsheetQuery(Declared):
    decimal: Annotated[str, choice([POINT, COMMA]), schema(enum=[POINT, COMMA])] = fact(
        "The decimal sign that the spreadsheet expects; with comma, semicolons separate "
        "the columns.",
        POINT,
    )


class SpreadsheetView(ApiView):
    queries = SpreadsheetQuery

    @operation(
        "release_spreadsheet",
        "Get a layer for a spreadsheet",
        tag="releases",
        responses={(200, "text/csv"): OpenApiResponse({"type": "string"}, "The rows")},
        errors=[202, 400, 404, 409, 410, 429],
        usual=False,
    )
    @heavy
    def get(self, request: Request, release_id: str, layer: str) -> HttpResponse:
        """Get a layer's CSV for spreadsheets.

        It begins with a byte order mark, has the requested decimal sign, and the centre of each
        feature instead of its outline. For a layer of more than 4 MB the response is 404, because
        no spreadsheet opens it well.
        """
        release = get_release(request, release_id)
        check_served(release)
        stored = file_of(request, release, f"{layer}{csv.FORMAT.suffix}")
        if stored.size > MAX_BYTES:
            raise exceptions.NotFound(
                f"This layer is too large for a spreadsheet; take {stored.file_name}."
            )
        comma = self.query.decimal == COMMA
        etag = f'"{stored.sha256}-{self.query.decimal}"'
        known = get_conditional_response(request._request, etag=etag)
        if known is None:
            with open_stored(stored.storage, stored.name) as file:
                rows = for_spreadsheets(file.read(), decimal_comma=comma)
            name = f"{layer}-spreadsheet{csv.FORMAT.suffix}"
            known = HttpResponse(rows, content_type=MEDIA_TYPE)
            known["Content-Disposition"] = disposition(stored.title, name)
        known["ETag"] = etag
        known["Cache-Control"] = cache_control(stored.published)
        return known
