"""System check of the memory that a worker's count may take."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

MIN_MIB = 128


@register()
def check_count_memory(**_: Any) -> list[CheckMessage]:
    """Report an error if counts would have too little memory to work at all."""
    if settings.DPGEO_COUNT_MEMORY_MIB >= MIN_MIB:
        return []
    problem = f"DPGEO_COUNT_MEMORY_MIB has to be at least {MIN_MIB}."
    return [Error(problem, id="dpgeo.E010")]
