"""Withdrawal behind a shared cache: nginx keeps published files only as long as allowed."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.servers import free_port
from tests.services.installation import Installation
from tests.services.nginx import nginx, nginx_before, shipped
from tests.services.sites import Site, site_of

pytestmark = pytest.mark.services


SECONDS = 5

CACHE = """
worker_processes 1;
pid {folder}/pid;
error_log stderr crit;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    proxy_cache_path {folder}/cache keys_zone=files:1m;
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_cache files;
            proxy_cache_revalidate on;
            proxy_set_header Host $http_host;
            add_header X-Cache $upstream_cache_status always;
            proxy_pass http://127.0.0.1:{site};
        }}
    }}
}}
"""


@contextmanager
def cached(folder: Path, site: int) -> Iterator[int]:
    """Run nginx as a shared cache in front of a site, and yield its port."""
    port = free_port()
    with nginx(folder, CACHE.format(folder=folder, port=port, site=site), port):
        yield port


class SlowSite(BaseHTTPRequestHandler):
    """A site that responds slowly: 200 until `is_withdrawn`, then 410."""

    is_withdrawn = False

    def do_GET(self) -> None:
        time.sleep(0.3)
        self.send_response(410 if SlowSite.is_withdrawn else 200)
        self.send_header("Cache-Control", "no-store" if SlowSite.is_withdrawn else "public")
        if not SlowSite.is_withdrawn:
            self.send_header("X-Accel-Expires", "1")
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"map")

    def log_message(self, *words: object) -> None:
        """Log nothing."""


@contextmanager
def slow_site() -> Iterator[int]:
    """Run a `SlowSite` and yield its port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), SlowSite)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("path", ["/maps/1/", "/api/v1/releases/1/files/map.bin"])
def test_the_shipped_proxy_forgets_a_withdrawn_map_although_many_read_it(
    tmp_path: Path, path: str
) -> None:
    """Readers whose requests overlap get no map later than a second after its withdrawal.

    `X-Accel-Expires` allows the proxy to keep a file for one second. The test allows one more for
    requests on their way.
    """
    SlowSite.is_withdrawn = False
    with (
        slow_site() as site,
        nginx_before(site, tmp_path, shipped()) as front,
        ThreadPoolExecutor(4) as readers,
    ):
        visitor = Site(front, {})

        def read_for(seconds: float) -> list[tuple[float, int]]:
            end, answers = time.monotonic() + seconds, []
            while (began := time.monotonic()) < end:
                answers.append((began, visitor.ask("GET", path).status))
                time.sleep(0.02)
            return answers

        assert {status for _, status in read_for(1)} == {200}
        SlowSite.is_withdrawn, withdrawn_at = True, time.monotonic()
        answers = [each for one in readers.map(read_for, [5.0] * 4) for each in one]
    late = [status for began, status in answers if began > withdrawn_at + 2]
    assert len(late) >= 8
    assert set(late) == {410}


def test_a_withdrawn_file_leaves_shared_caches_in_the_time_that_is_stated(tmp_path: Path) -> None:
    installation = Installation(tmp_path)
    installation.environment["DPGEO_CACHE_SECONDS"] = str(SECONDS)
    prepared = installation.ask("prepare_program")
    (tmp_path / "nginx").mkdir()
    with (
        site_of(installation) as port,
        installation.worker(),
        cached(tmp_path / "nginx", port) as front,
    ):
        program = Site(port, prepared["headers"])
        body = prepared["body"] | {"publish_when_done": True}
        job = program.must("POST", "/api/v1/releases", body, Idempotency_Key="one")
        program.until_done(job["url"])
        [file, *_] = program.must("GET", job["release_url"])["files"]
        visitor = Site(front, {})
        first = visitor.ask("GET", file["url"])
        again = visitor.ask("GET", file["url"])
        assert [first.headers["X-Cache"], again.headers["X-Cache"]] == ["MISS", "HIT"]
        time.sleep(SECONDS + 1)
        later = visitor.ask("GET", file["url"])
        assert (later.status, later.headers["X-Cache"]) == (200, "REVALIDATED")
        program.must("POST", f"{job['release_url']}/withdraw", {})
        withdrawn_at = time.monotonic()
        while visitor.ask("GET", file["url"]).status != 410:
            assert time.monotonic() - withdrawn_at < SECONDS + 15
            time.sleep(0.2)
