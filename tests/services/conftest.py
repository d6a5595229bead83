"""Installations for tests of real processes, with SQLite or with PostgreSQL and Redis."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.requirements import need
from tests.servers import INSTALL, Servers, running_servers, servers_installed
from tests.services.installation import Installation


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """Run PostgreSQL and Redis for as long as the tests run."""
    need(servers_installed(), INSTALL)
    with running_servers() as running:
        yield running


@pytest.fixture(params=["embedded", "servers"])
def installation(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Installation]:
    """Yield an empty installation, once with SQLite and once with PostgreSQL and Redis."""
    settings = None
    if request.param == "servers":
        servers: Servers = request.getfixturevalue("servers")
        settings = servers.migrated_environment()
    with closing(Installation(tmp_path, settings)) as new:
        yield new
