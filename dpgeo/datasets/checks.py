"""System checks for the key that protects the hashes of persons' identifiers."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from dpgeo.datasets.person_keys import SHORTEST, problem_with_file


@register()
def check_person_key(**_: Any) -> list[CheckMessage]:
    """Report an error if other accounts may read the key file, or if the key is too short."""
    if settings.PERSON_KEY and len(settings.PERSON_KEY) < SHORTEST:
        problem = f"DPGEO_PERSON_KEY has fewer than {SHORTEST} characters; run openssl rand -hex 32"
        return [Error(problem, id="dpgeo.E001")]
    problem = problem_with_file()
    return [Error(problem, id="dpgeo.E002")] if problem else []
