"""The benchmark of zCDP: exact counts, people copied to enlarge the data, a series of maps."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks import zcdp
from benchmarks.__main__ import main
from benchmarks.series import AREA
from benchmarks.zcdp import EVERYTHING, MONTHS, boxes_error, exact, months, read, view_of, write
from dpgeo.spatial.grid import Grid

BOX = (-74.0, 40.0, -73.0, 41.0)


def written(path: Path) -> Path:
    """Write a Parquet file: 30 people, in the same two cells every month, and a row elsewhere.

    The latter is outside BOX, the area that is read.
    """
    rows = [
        (who, month * 100, lat, -73.9)
        for who in range(30)
        for month in range(MONTHS)
        for lat in (40.9, 40.1)
    ]
    rows.append((99, 5, 50.0, -73.9))
    user, minute, lat, lon = zip(*rows, strict=True)
    pq.write_table(pa.table({"user": user, "minute": minute, "lat": lat, "lon": lon}), path)
    return path


def test_copies_of_people_are_counted_as_further_people(tmp_path: Path) -> None:
    rows = read(written(tmp_path / "rows.parquet"), BOX)
    grid = Grid.over(AREA, 4)
    for times in (1, 2):
        path = write(tmp_path / "canonical.parquet", rows, times)
        counts = exact(view_of(path, EVERYTHING).histogram(grid))
        assert counts[0, 0] == counts[3, 0] == 30 * times
        assert counts.sum() == 60 * times
        assert exact(view_of(path, 1).histogram(grid)).sum() == 30 * times


def test_every_month_has_its_own_rows(tmp_path: Path) -> None:
    rows = read(written(tmp_path / "rows.parquet"), BOX)
    paths = list(months(tmp_path, rows, 1))
    assert [pq.read_metadata(path).num_rows for path in paths] == [60] * MONTHS


def test_errors_of_boxes_are_those_of_their_sums() -> None:
    truth = np.zeros((4, 4))
    assert boxes_error(truth, truth) == 0
    one_off = truth.copy()
    one_off[0, 0] = 8
    share = boxes_error(one_off, truth) / 8
    # A random box has two of five grid lines per axis as its sides, drawn with replacement. On an
    # axis, 8 of 25 pairs of lines enclose the first cell.
    assert share == pytest.approx((8 / 25) ** 2, abs=0.03)


def test_it_prints_the_errors_of_both_currencies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zcdp, "MONTHS", 2)
    path = written(tmp_path / "rows.parquet")
    options = [
        "--data",
        str(path),
        "--cells",
        "8",
        "--trials",
        "1",
        "--times",
        "1",
        "--json",
        "--bounds",
        "135",
    ]
    assert main(["zcdp", *options, "--box", *map(str, BOX)]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["maps"], line["bound"]) for line in lines] == [(1, 135), (2, 135)]
    assert all(line["rmse_auto_gaussian"] < line["rmse_gaussian"] for line in lines)
    # At bound 135, Laplace noise has a standard deviation of 191, and Gaussian noise of 67.
    assert lines[0]["rmse_laplace"] > 1.5 * lines[0]["rmse_gaussian"]
