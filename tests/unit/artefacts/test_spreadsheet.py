"""CSV files for spreadsheets: byte order mark, cell centres, and the reader's decimal sign."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest

from dpgeo.artefacts import csv as csv_file
from dpgeo.artefacts.spreadsheet import for_spreadsheets
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import layers
from tests.unit.artefacts import releases


def rows(text: str, separator: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text), delimiter=separator))


@pytest.mark.parametrize("make", [releases.grid_release, releases.partition_release])
def test_excel_reads_the_same_figures_in_either_decimal_sign(
    make: Callable[[], Released], tmp_path: Path
) -> None:
    released = make()
    for layer in layers(released):
        csv_file.write(released, layer, tmp_path / "layer.csv")
        plain = (tmp_path / "layer.csv").read_bytes()
        original = rows(plain.decode(), ",")
        point = for_spreadsheets(plain, decimal_comma=False).decode("utf-8-sig")
        comma = for_spreadsheets(plain, decimal_comma=True)
        assert comma.startswith(b"\xef\xbb\xbflongitude;latitude;")
        english, german = rows(point, ","), rows(comma.decode("utf-8-sig"), ";")
        assert len(english) == len(german) == len(original) > 0
        for before, one, other in zip(original, english, german, strict=True):
            assert {name: one[name] for name in before} == before
            for name, value in one.items():
                number = other[name].replace(",", ".") if name != "margin_label" else other[name]
                assert number == value
            middle = (float(before["west"]) + float(before["east"])) / 2
            assert float(one["longitude"]) == pytest.approx(middle, abs=1e-6)
