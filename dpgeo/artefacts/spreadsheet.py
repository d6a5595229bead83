"""CSV files that spreadsheet programs open correctly with a double click.

They are made from a layer's CSV file and begin with a byte order mark; without it, Excel reads
UTF-8 as the local code page. For spreadsheets that expect a decimal comma, numbers are written with
one and columns are separated by semicolons; otherwise Excel reads 1.5 as a date. Each feature has
its centre but no outline, because a spreadsheet cell holds at most 32,767 characters.
"""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.core.csv_text import csv_line

MEDIA_TYPE = "text/csv; charset=utf-8"

BYTE_ORDER_MARK = "\ufeff".encode()

MAX_BYTES = 4_000_000
"""Largest CSV file, in bytes, that is rewritten for spreadsheets on request. Rewriting it takes a
few tenths of a second at most.
"""

DECIMALS = 7
"""Decimal places of a centre in degrees; seven are enough to resolve a centimetre."""

POINT_NUMBER = r"^(-?[0-9]+)\.([0-9]+(?:[eE][-+]?[0-9]+)?)$"


def for_spreadsheets(rows: bytes, *, decimal_comma: bool) -> bytes:
    """Return the rows of a layer's CSV file in the form that spreadsheets read.

    With `decimal_comma`, numbers have a decimal comma and columns are separated by semicolons.
    """
    import pyarrow as pa
    import pyarrow.csv

    names = next(csv.reader([rows.split(b"\n", 1)[0].decode()]))
    table = pyarrow.csv.read_csv(
        io.BytesIO(rows),
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
        ),
    )
    columns = {name: table[name] for name in table.column_names}
    columns = {**_centres(columns), **columns}
    columns.pop("geometry", None)
    if decimal_comma:
        columns = {name: _with_commas(column) for name, column in columns.items()}
    separator = ";" if decimal_comma else ","
    out = io.BytesIO()
    out.write(BYTE_ORDER_MARK + csv_line(columns, separator=separator).encode())
    options = pyarrow.csv.WriteOptions(
        include_header=False, delimiter=separator, quoting_style="needed"
    )
    pyarrow.csv.write_csv(pa.table(columns), out, options)
    return out.getvalue()


def _with_commas(column: Any) -> Any:
    """Return texts with a decimal comma in numbers; other texts stay as they are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        column.cast("float64")
    except pa.ArrowInvalid:
        return pc.replace_substring_regex(column, POINT_NUMBER, r"\1,\2")
    return pc.replace_substring(column, ".", ",")


def _centres(columns: dict[str, Any]) -> dict[str, Any]:
    """Return the longitudes and latitudes of the centres as texts.

    Returns {} for points, whose positions are in the file already.
    """
    if "geometry" in columns:
        points = shapely.point_on_surface(shapely.from_wkt(columns["geometry"].to_numpy()))
        return {
            "longitude": _texts(shapely.get_x(points)),
            "latitude": _texts(shapely.get_y(points)),
        }
    if "west" not in columns:
        return {}
    west, south, east, north = (
        columns[name].cast("float64").to_numpy() for name in ("west", "south", "east", "north")
    )
    return {"longitude": _texts((west + east) / 2), "latitude": _texts((south + north) / 2)}


def _texts(degrees: NDArray[np.float64]) -> Any:
    import pyarrow as pa

    return pa.chunked_array([pa.array(degrees.round(DECIMALS)).cast(pa.string())])
