"""The example mechanism in docs/architecture.md."""

from __future__ import annotations

import dataclasses
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from dpgeo.core.released import GridRelease
from dpgeo.mechanisms import uniform_grid
from dpgeo.privacy.mechanism import run
from tests.randomness import SeededEntropy
from tests.unit.mechanisms.views import view

PAGE = Path(__file__).resolve().parents[3] / "docs" / "architecture.md"


def test_the_example_is_the_uniform_grid_without_its_threshold() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    names: dict[str, Any] = dict(vars(uniform_grid))
    exec(code, names)  # noqa: S102 - a page of this repository
    parts = {name: names[name] for name in ("plan", "release")}
    shown = dataclasses.replace(uniform_grid.MECHANISM, params=names["Params"], **parts)

    releases = [
        run(mechanism, view(500), mechanism.params(cells=32), Fraction(1), SeededEntropy(4), {})
        for mechanism in (shown, uniform_grid.MECHANISM)
    ]

    example, real = (released.content for released in releases)
    assert isinstance(example, GridRelease)
    assert isinstance(real, GridRelease)
    assert np.array_equal(example.counts, real.counts)
