"""Places that visitors view and search for, which neither the site nor nginx logs."""

from __future__ import annotations

import contextlib
import re
import socket
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from dpgeo.ground import archives
from tests.services.installation import ROOT, Installation
from tests.services.nginx import nginx_before, shipped
from tests.services.sites import Site, site_of
from tests.unit.ground.files import TILES

pytestmark = pytest.mark.services

TYPED = "Schimmelgasse"
"""A text that only a visitor types, so it occurs in none of the site's files."""


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    """Return an installation with a basemap."""
    new = Installation(tmp_path)
    with closing(new):
        new.command("ground", "add", str(TILES), "--name", "here")
    return new


def look_around(port: int, tiles: str) -> list[int]:
    """Request tiles and places as visitors do, also with invalid URLs; return the statuses."""
    column, row = archives.tile_at(9.52, 47.14, 14)
    addresses = [
        f"/ground/{tiles}/14/{column}/{row}",
        f"/ground/{tiles}/14/99999/99999",
        f"/ground/{'0' * len(tiles)}/14/{column}/{row}",
        f"/places/?q={TYPED}",
        f"/places/?q={TYPED}&box=9.4,47.0,9.7,47.3",
        f"/places/?q={TYPED}&box=nonsense",
        f"/?near={TYPED}",
        f"/de/?near={TYPED}",
        f"/places/?q={TYPED}{'x' * 9_000}",
        f"/{TYPED}/",
    ]
    statuses = [Site(port, {}).ask("GET", address).status for address in addresses]
    for line in (f"GET /places/?q={TYPED}\\\x01 HTTP/9.9", f"{TYPED} / HTTP/1.1\r\nHost: ["):
        with (
            contextlib.suppress(OSError),  # nginx may close the connection instead of answering.
            socket.create_connection(("127.0.0.1", port), timeout=20) as raw,
        ):
            raw.sendall(f"{line}\r\n\r\n".encode())
            raw.settimeout(20)
            raw.recv(1000)
    return statuses


def told(folder: Path) -> list[str]:
    """Return the names of places and tiles that occur in the logs in a folder."""
    logs = [path for name in ("log", "nginx/messages") if (path := folder / name).exists()]
    text = "\n".join(path.read_text(errors="replace") for path in logs)
    return re.findall(rf"{TYPED}|/ground/[0-9a-f]+/[0-9/]*|/places/\?", text)


def test_neither_the_site_nor_nginx_logs_a_search_or_a_tile(
    installation: Installation, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    quiet = shipped()
    (tiles,) = (tmp_path / "var" / "ground").glob("*.pmtiles")
    (searched,) = (tmp_path / "var" / "ground").glob("*.sqlite")
    with ExitStack() as stack:
        site = stack.enter_context(ExitStack())
        port = site.enter_context(site_of(installation))
        before = stack.enter_context(nginx_before(port, tmp_path / "nginx", quiet))
        for asked in (port, before):
            assert look_around(asked, tiles.stem)[:8] == [200, 404, 404, 200, 200, 400, 200, 200]
        # The check works: a configuration that logs requests is detected.
        elsewhere = tmp_path_factory.mktemp("loud")
        loud = quiet.replace("access_log off", "access_log /dev/stderr")
        with nginx_before(port, elsewhere / "nginx", loud) as logging:
            look_around(logging, tiles.stem)
        assert len(set(told(elsewhere))) >= 3
        # The site logs that it could not answer, but not what was typed.
        searched.write_bytes(b"no database at all")
        assert Site(before, {}).ask("GET", f"/places/?q={TYPED}").status == 500
        assert "DatabaseError" in (tmp_path / "log").read_text()
        site.close()
        assert Site(before, {}).ask("GET", f"/places/?q={TYPED}").status == 503
    assert told(tmp_path) == []


def test_caddy_is_told_to_log_no_request() -> None:
    """Without a `log` block, Caddy logs the address of each request that the site fails to answer.

    A site block's own `log` directive would log every request.
    """
    text = (ROOT / "deploy" / "Caddyfile").read_text()
    options, _, site = text.partition("{$DPGEO_HOSTS:maps.example.org} {")
    assert re.search(r"^\tlog \{\n\t\texclude http\.log\.error http\.handlers\n\t\}", options, re.M)
    assert not re.search(r"^\s*log\b", site, re.M)
