"""Levels of geo-indistinguishability, such as "ln 4 within 200 m".

A level of ln 4 within 200 m means: if a report is moved by at most 200 m (the radius), the odds of
every output change by a factor of at most 4 (e^level). The guarantee itself is epsilon = level /
radius per metre, rounded down to an integer of pico-epsilon.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, Self

from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import SCALE, Notion
from dpgeo.core.number_text import number_text
from dpgeo.phrases import Figure, Phrase

MAX_LEVEL = 1000
"""Largest accepted level; a larger one protects nobody and must be a typing error."""

MAX_RADIUS = 20_000_000
"""Largest radius in metres: about half the Earth's circumference, the largest distance on Earth."""

MAX_LOGARITHM = 1000
"""Largest integer n for which a level of ln n is written as a logarithm."""

LEVEL_PATTERN = r"^\s*([lL][nN]\s*\(?\s*[0-9]+(\.[0-9]+)?\s*\)?|[0-9]+(\.[0-9]+)?)\s*$"
"""Regular expression for a level as text, for JSON Schema."""

_DIGITS = Context(prec=50)

_LOGARITHM = re.compile(r"ln\s*\(?\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*\)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Level:
    """A privacy level, as text such as "ln 4", within a radius in whole metres."""

    text: str
    radius: int

    @property
    def pico(self) -> int:
        """Epsilon per metre in pico-epsilon, rounded down to an integer."""
        per_metre = _DIGITS.divide(_value(self.text), Decimal(self.radius))
        scaled = _DIGITS.multiply(per_metre, Decimal(SCALE[Notion.GEO_IND]))
        return int(scaled.to_integral_value(ROUND_FLOOR, _DIGITS))

    @property
    def epsilon(self) -> Fraction:
        """Exact epsilon per metre that is guaranteed and charged."""
        return Fraction(self.pico, SCALE[Notion.GEO_IND])

    def to_json(self) -> dict[str, str | int]:
        """Return the level, as text, and the radius as a JSON object."""
        return {"level": self.text, "radius": self.radius}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Return the level described by `document`, which `to_json` made."""
        return cls(str(document["level"]), int(document["radius"]))


def parse_level(value: object, *, field: str = "level") -> str:
    """Parse a level, such as "ln(4)" or "1.4", and return its normal form, "ln 4" or "1.4".

    Raises InvalidInput for text that is not a level, or for a level that is not above 0, is above
    MAX_LEVEL or has too many decimals.
    """
    text = str(value).strip()
    match = _LOGARITHM.fullmatch(text)
    try:
        number = Decimal(match[1] if match else number_text(text))
    except (ValueError, InvalidOperation):
        raise InvalidInput(
            "{text!r} is not a level; write it like ln(4) or 1.4.", text=text, field=field
        ) from None
    if not number.is_finite() or number <= (1 if match else 0):
        raise InvalidInput(
            "Must be greater than zero, such as ln(4): by how much the odds may change.",
            field=field,
        )
    if len(number.as_tuple().digits) > 18 or not Decimal("1e-6") <= number <= 10**9:
        raise InvalidInput("Give at most six decimals, such as 1.386294.", field=field)
    plain = format(number.normalize(), "f")
    clean = f"ln {plain}" if match else plain
    if _value(clean) > MAX_LEVEL:
        raise InvalidInput(
            "Must be at most {most}; a higher level hides nothing.", most=MAX_LEVEL, field=field
        )
    return clean


def parse_radius(value: object, *, field: str = "radius") -> int:
    """Parse a radius in whole metres. Raises InvalidInput, which names `field`."""
    text = str(value).strip()
    if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= MAX_RADIUS:
        raise InvalidInput(
            "Must be a whole number of metres from 1 to {most:,}, such as 200.",
            most=MAX_RADIUS,
            field=field,
        )
    return int(text)


def make_level(level: object, radius: object, *, field: str = "level") -> Level:
    """Parse a level within a radius.

    Raises InvalidInput if either is invalid or the ledger cannot store the level. The error names
    the field "radius" if the radius is invalid, and `field` otherwise.
    """
    parsed = Level(parse_level(level, field=field), parse_radius(radius))
    if parsed.pico < 1:
        raise InvalidInput("Is too small for this radius; nothing could be published.", field=field)
    return parsed


def format_level(pico: int, radius: int) -> str:
    """Format an epsilon per metre as a level within a radius ("level ln 4 within 200 m").

    `pico` is the epsilon in pico-epsilon, and `radius` is in metres.
    """
    return str(level_phrase(pico, radius))


def level_phrase(pico: int, radius: int) -> Phrase:
    """Format a level within a radius ("level ln 4 within 200 m") as a translatable phrase."""
    level = Figure(level_text(pico, radius))
    return Phrase("level {level} within {radius:,} m", level=level, radius=radius)


def level_text(pico: int, radius: int) -> str:
    """Format a level within a radius as a logarithm ("ln 4") or a decimal ("1.386").

    `pico` is the level's epsilon per metre, in pico-epsilon. The text is "ln n" if ln n within this
    radius amounts to `pico` or `pico` + 1 pico-epsilon per metre. Decimals are rounded up to six
    places. So the stated level is never below the actual level.
    """
    exact = Fraction(pico * radius, SCALE[Notion.GEO_IND])
    number = round(math.exp(min(float(exact), 10)))
    if 2 <= number <= MAX_LOGARITHM and 0 <= Level(f"ln {number}", radius).pico - pico <= 1:
        return f"ln {number}"
    millionths = -(-exact.numerator * 10**6 // exact.denominator)
    return format((Decimal(millionths) / 10**6).normalize(), "f")


def remaining_level_text(pico: int, radius: int) -> str:
    """Format a remaining budget as a level, rounded down so that it can be spent.

    Charges are rounded down to ledger units. So if ln 4 is spent from a budget of ln 16, slightly
    more than ln 4 remains. A remainder that exceeds ln n by at most a millionth is written "ln n".
    """
    exact = Fraction(pico * radius, SCALE[Notion.GEO_IND])
    number = round(math.exp(min(float(exact), 10)))
    if 2 <= number <= MAX_LOGARITHM:
        excess = pico - Level(f"ln {number}", radius).pico
        if 0 <= Fraction(excess * radius, SCALE[Notion.GEO_IND]) <= Fraction(1, 10**6):
            return f"ln {number}"
    millionths = exact.numerator * 10**6 // exact.denominator
    return format((Decimal(millionths) / 10**6).normalize(), "f")


def _value(text: str) -> Decimal:
    """Evaluate a level written as text, such as "ln 4", to fifty digits."""
    if text.startswith("ln "):
        return Decimal(text.removeprefix("ln ")).ln(_DIGITS)
    return Decimal(text)
