"""Fixtures of web tests: migrated tables, and a fixed noise seed for each test.

With a seed of its own, no web test fails by chance.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import pytest

from dpgeo.releases import private_draw, rehearsal
from tests.migrated import copied_into_memory
from tests.randomness import SeededEntropy
from tests.storages import use_empty_storages
from tests.web.desk import Desk, make_desk


@pytest.fixture(scope="session")
def django_db_setup(request: pytest.FixtureRequest) -> None:
    """Start the test database as a migrated copy; running all migrations would take ten seconds."""
    with copied_into_memory():
        request.getfixturevalue("django_db_setup")


@pytest.fixture(autouse=True)
def fixed_noise(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every draw in a test use random streams made in order from the test's own seed."""
    entropy = SeededEntropy(zlib.crc32(request.node.nodeid.encode()))
    for module in (private_draw, rehearsal):
        monkeypatch.setattr(module, "SystemEntropy", lambda: entropy)


@pytest.fixture
def desk() -> Desk:
    """Make an organisation with a signed-in administrator."""
    return make_desk()


@pytest.fixture
def empty_storages(tmp_path: Path, settings: Any) -> None:
    """Use empty storages, without files from other tests."""
    use_empty_storages(settings, tmp_path)
