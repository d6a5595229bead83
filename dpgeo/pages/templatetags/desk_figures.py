"""Figures as the desk writes them."""

from __future__ import annotations

from fractions import Fraction

from django import template

from dpgeo.core.epsilon import format_epsilon, from_micro

register = template.Library()


@register.filter
def epsilon(value: Fraction | int, decimals: int = 2) -> str:
    """An exact epsilon (or whole micro-epsilon) with at least so many decimals: 0.5 as 0.50."""
    exact = value if isinstance(value, Fraction) else from_micro(value)
    sign = "\N{MINUS SIGN}" if exact < 0 else ""
    text = format_epsilon(abs(exact))
    if "/" in text:
        return sign + text
    whole, _, part = text.partition(".")
    padded = part.ljust(decimals, "0")
    return f"{sign}{whole}.{padded}" if padded else f"{sign}{whole}"
