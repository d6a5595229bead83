"""The site behind Caddy with the shipped configuration, over https."""

from __future__ import annotations

import os
import shutil
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest
import yaml

from tests.requirements import need
from tests.servers import free_port
from tests.services.installation import ROOT, Installation, kill
from tests.services.over_https import CADDY, ask, local_caddyfile
from tests.services.sites import site_of

AUDIT = os.environ.get("DPGEO_AUDIT") == "1"

pytestmark = [
    pytest.mark.services,
    pytest.mark.skipif(not AUDIT, reason="runs in make audit"),
]

PATIENCE_SECONDS = 60.0

SERVICE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["tls"]


@contextmanager
def caddy(folder: Path, site: int, http: int, https: int) -> Iterator[Path]:
    """Run Caddy in front of a site, with the command of the compose file's service `tls`.

    Yields the path of the certificate of Caddy's own certificate authority.
    """
    program = shutil.which("caddy")
    need(program is not None, CADDY)
    (folder / "Caddyfile").write_text(local_caddyfile(http, https))
    words = [
        str(folder / "Caddyfile") if word == "/etc/caddy/Caddyfile" else word
        for word in SERVICE["command"]
    ]
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "XDG_DATA_HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
        "DPGEO_HOSTS": "localhost",
        "DPGEO_UPSTREAM": f"127.0.0.1:{site}",
    }
    assert SERVICE["environment"].keys() <= environment.keys()
    with (folder / "caddy.log").open("wb") as log:
        process = subprocess.Popen(
            words, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    root = folder / "caddy/pki/authorities/local/root.crt"
    try:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (root.exists() and _answers(https, root)):
            assert process.poll() is None, (folder / "caddy.log").read_text()
            assert time.monotonic() < deadline, (folder / "caddy.log").read_text()
            time.sleep(0.2)
        yield root
    finally:
        kill(process)


def _answers(port: int, root: Path) -> bool:
    try:
        return ask(port, root, "/healthz").status == 200
    except OSError:
        return False


def ask_plainly(port: int, path: str) -> HTTPResponse:
    """Request a path over http, without encryption; return the response."""
    connection = HTTPConnection("localhost", port, timeout=30)
    connection.request("GET", path)
    return connection.getresponse()


def test_https_is_spoken_by_current_versions_alone_and_cookies_are_bound(tmp_path: Path) -> None:
    installation = Installation(tmp_path)
    installation.environment |= {
        "DPGEO_HTTPS": "1",
        "DPGEO_PROXIES": "1",
        "DPGEO_HOSTS": "localhost,127.0.0.1",
    }
    http, https = free_port(), free_port()
    with site_of(installation) as site, caddy(tmp_path, site, http, https) as root:
        answer = ask(https, root, "/accounts/login/")
        assert answer.status == 200
        assert "max-age=31536000; includeSubDomains" in str(
            answer.headers["Strict-Transport-Security"]
        )
        assert answer.headers["Set-Cookie"].startswith("__Host-dpgeo_csrf=")
        redirect = ask_plainly(http, "/desk/")
        assert redirect.status in {301, 308}
        assert redirect.headers["Location"].startswith("https://localhost")
        for port in (http, site):
            assert ask_plainly(port, "/api/v1/releases").status == 403
        assert ask_plainly(site, "/healthz").status == 200
        assert version_spoken(https, root, ssl.TLSVersion.TLSv1_3) == "TLSv1.3"
        assert version_spoken(https, root, ssl.TLSVersion.TLSv1_2) == "TLSv1.2"
        assert version_spoken(https, root, ssl.TLSVersion.TLSv1_1) is None


def version_spoken(port: int, root: Path, newest: ssl.TLSVersion) -> str | None:
    """Return the TLS version agreed with a client that knows none newer than `newest`.

    Returns None if no connection is made.
    """
    words = {"TLSv1_3": "-tls1_3", "TLSv1_2": "-tls1_2", "TLSv1_1": "-tls1_1"}
    process = subprocess.run(
        ["openssl", "s_client", "-connect", f"localhost:{port}", "-servername", "localhost",
         "-CAfile", str(root), "-cipher", "ALL:@SECLEVEL=0", words[newest.name]],
        input=b"", capture_output=True, timeout=30, check=False,
    )  # fmt: skip
    if process.returncode:
        return None
    for line in process.stdout.decode().splitlines():
        if line.startswith("New, ") or "Protocol  :" in line:
            for version in ("TLSv1.3", "TLSv1.2", "TLSv1.1"):
                if version in line:
                    return version
    return None
