"""Noise of web tests has a seed of each test's own, so that none fails by chance."""

from __future__ import annotations

import zlib

import pytest

from dpgeo.releases import private_draw, rehearsal
from tests.randomness import SeededEntropy


@pytest.fixture(autouse=True)
def fixed_noise(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every draw of the test take streams of one seed, in the order in which it opens them."""
    entropy = SeededEntropy(zlib.crc32(request.node.nodeid.encode()))
    for module in (private_draw, rehearsal):
        monkeypatch.setattr(module, "SystemEntropy", lambda: entropy)
