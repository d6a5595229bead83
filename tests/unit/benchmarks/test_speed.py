from __future__ import annotations

import json

import pytest

from benchmarks.__main__ import main
from tests.requirements import need


def test_speed_compares_each_slow_step_with_an_alternative(
    capsys: pytest.CaptureFixture[str],
) -> None:
    try:
        import opendp  # noqa: F401
    except ImportError:
        need(False, "OpenDP: pip install opendp")

    small = ["--rows", "20000", "--people", "500", "--draws", "20000", "--repeat", "1"]
    small += ["--large", "256"]
    assert main(["speed", "--json", *small]) == 0

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    kinds = [line["name"].split(":")[0] for line in lines]
    assert kinds == [
        *["noise"] * 4,
        "kd-tree",
        "dpcube",
        "ingest",
        "ingest",
        "counts",
        "counts",
        "zones",
        "release",
        "published",
    ]
    for line in lines:
        assert line["ratio"] == pytest.approx(line["ours_s"] / line["reference_s"])
        assert line["reference"]
