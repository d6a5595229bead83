"""Content encodings, such as gzip, that a client accepts for a response."""

from __future__ import annotations

import re
from collections.abc import Mapping


def accepts_gzip(headers: Mapping[str, str]) -> bool:
    """Return whether Accept-Encoding allows gzip, by name or by * (RFC 9110, section 12.5.3)."""
    weights: dict[str, bool] = {}
    for part in headers.get("Accept-Encoding", "").lower().split(","):
        coding, _, weight = part.partition(";")
        weights[coding.strip()] = not re.fullmatch(r"\s*q\s*=\s*0(\.0*)?\s*", weight)
    return weights.get("gzip", weights.get("*", False))
