"""A different fixed noise seed for each web test, so that no web test fails by chance."""

from __future__ import annotations

import zlib

import pytest

from dpgeo.releases import private_draw, rehearsal
from tests.randomness import SeededEntropy


@pytest.fixture(autouse=True)
def fixed_noise(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every draw in a test use random streams made in order from the test's own seed."""
    entropy = SeededEntropy(zlib.crc32(request.node.nodeid.encode()))
    for module in (private_draw, rehearsal):
        monkeypatch.setattr(module, "SystemEntropy", lambda: entropy)
