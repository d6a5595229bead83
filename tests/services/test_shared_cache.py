"""Withdrawal behind a shared cache: nginx keeps published files only as long as allowed."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.requirements import need
from tests.servers import free_port
from tests.services.installation import Installation, kill
from tests.services.sites import Site, site_of, wait_until_it_answers

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
    program = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin")
    need(program is not None, "nginx: apt-get install nginx-light")
    assert program
    port = free_port()
    (folder / "conf").write_text(CACHE.format(folder=folder, port=port, site=site))
    words = [program, "-c", str(folder / "conf"), "-g", "user root; daemon off;"]
    process = subprocess.Popen(words, start_new_session=True)
    try:
        wait_until_it_answers(process, port)
        yield port
    finally:
        kill(process)


def test_a_withdrawn_file_leaves_shared_caches_in_the_time_that_is_stated(tmp_path: Path) -> None:
    installation = Installation(tmp_path)
    installation.environment["DPGEO_CACHE_SECONDS"] = str(SECONDS)
    prepared = installation.answer(
        installation.start("-m", "tests.services.posting", "prepare", "{}")
    )
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
