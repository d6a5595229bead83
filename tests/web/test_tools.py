"""The examples in docs/tools.md, run as written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pytest
from django.test import Client

from dpgeo.datasets.storage import public_storage
from dpgeo.releases.models import Release
from tests.unit.artefacts.releases import grid_release
from tests.web.published import install, make_dataset

GUIDE = (Path(__file__).parents[2] / "docs" / "tools.md").read_text()


def typed(language: str, release: Release, server: str = "http://testserver") -> str:
    """Return the guide's example in a programming language, with server and release filled in."""
    (block,) = re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)
    return str(block).replace("SERVER", server).replace("ID", release.pk)


def stored(release: Release) -> str:
    return str(public_storage().path(release.files.get(name="cells.parquet").stored_name))


@pytest.mark.django_db
def test_duckdb_reads_the_requested_part() -> None:
    """DuckDB reads only the part of a file that a query needs.

    Here it reads from disk, because its extension for HTTP cannot be installed everywhere.
    """
    import duckdb

    release = install(make_dataset(), grid_release(16))
    reading, query = typed("sql", release).split("\n", 1)
    assert reading == "INSTALL httpfs; LOAD httpfs;"
    address = re.findall(r"'(http.*?)'", query)[0]
    assert Client().get(address.removeprefix("http://testserver")).status_code == 200
    query = query.replace(address, stored(release)).replace("16.7", "4.7").replace("16.6", "4.5")
    rows = np.array(duckdb.connect().execute(query).fetchall())
    cells = geopandas.read_parquet(stored(release))
    sides = cells.geometry.bounds
    near = (sides.minx < 4.7) & (sides.maxx > 4.5) & (cells.estimate >= cells.threshold)
    assert 0 < near.sum() < len(cells)
    np.testing.assert_array_equal(rows, cells.loc[near, ["estimate", "margin"]].to_numpy())


@pytest.mark.django_db(transaction=True)
def test_geopandas_reads_from_the_server(live_server: Any) -> None:
    release = install(make_dataset(), grid_release(16))
    names: dict[str, Any] = {}
    exec(typed("python", release, live_server.url), names)  # noqa: S102 - it is our own guide
    assert names["cells"].equals(geopandas.read_parquet(stored(release)))
