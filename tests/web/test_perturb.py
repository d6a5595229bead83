"""`manage.py perturb`, which perturbs a position or a file without a running server."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command


def perturb(*arguments: Any) -> str:
    out = StringIO()
    call_command("perturb", *map(str, arguments), stdout=out, stderr=StringIO())
    return out.getvalue()


def test_a_position_is_perturbed_and_not_far() -> None:
    words = perturb("--lat", 52.5, "--lon", 13.4, "--level", "ln(4)", "--radius", 200)
    lat, lon = map(float, words.split())
    assert (lat, lon) != (52.5, 13.4)
    # The noise moves a point more than 20 km with probability 1e-58.
    assert abs(lat - 52.5) < 0.2
    assert abs(lon - 13.4) < 0.4


@pytest.mark.parametrize(("lat", "lon"), [(90, 0), (-90, 180), (0, -180), (0, 180)])
def test_positions_at_the_poles_and_the_antimeridian_are_perturbed(lat: int, lon: int) -> None:
    words = perturb("--lat", lat, f"--lon={lon}", "--level", "1", "--radius", 50)
    north, east = map(float, words.split())
    assert abs(north) <= 90
    assert abs(east) <= 180


def test_a_file_is_perturbed_row_by_row_without_other_columns(tmp_path: Path) -> None:
    path = tmp_path / "places.csv"
    path.write_text("who,Latitude,Longitude\nann,52.5,13.4\nbob,52.6,13.5\n")
    lines = perturb("--file", path, "--level", "ln 4", "--radius", 200).splitlines()
    assert lines[0] == "lon,lat"
    assert len(lines) == 3
    assert "ann" not in "".join(lines)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--lat", "91", "--lon", "0", "--level", "1", "--radius", "9"), "--lat"),
        (("--lat", "nan", "--lon", "0", "--level", "1", "--radius", "9"), "--lat"),
        (("--lat", "0", "--lon", "181", "--level", "1", "--radius", "9"), "--lon"),
        (("--lat", "0", "--lon", "0", "--level", "0", "--radius", "9"), "--level"),
        (("--lat", "0", "--lon", "0", "--level", "1", "--radius", "0"), "--radius"),
        (("--lat", "0", "--level", "1", "--radius", "9"), "Give --lat and --lon"),
        (("--file", "nowhere.csv", "--level", "1", "--radius", "9"), "--file"),
    ],
)
def test_invalid_input_is_refused_by_name(arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        perturb(*arguments)
