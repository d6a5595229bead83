"""Number parsing: every parser accepts only texts that people would read as numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from dpgeo.core.epsilon import parse_epsilon
from dpgeo.core.errors import InvalidInput
from dpgeo.core.levels import parse_level, parse_radius
from dpgeo.core.parameters import param, parse_parameters


@dataclass(frozen=True)
class Sized:
    """Parameters with a single whole number."""

    size: int = param(8, "A size.", low=1, high=1000)


READERS: list[Callable[[str], object]] = [
    parse_epsilon,
    parse_level,
    parse_radius,
    lambda text: parse_parameters(Sized, {"size": text}),
]

ODD = ["1_0", "_10", "10_", "1__0", "\u0661\u0660", "\uff11\uff10", "\u00b9", "1\u00a00", "1e1_0"]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("text", [*ODD, "nan", "inf", "-inf", "infinity", "1 0", "0x10", "1,0", ""])
def test_numbers_of_programs_and_other_scripts_are_refused(
    read: Callable[[str], object], text: str
) -> None:
    with pytest.raises(InvalidInput):
        read(text)


@pytest.mark.parametrize("text", [text for text in ODD if text != "1\u00a00"])
def test_logarithms_are_as_strict(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_level(f"ln({text})")
