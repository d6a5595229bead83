"""Two hosts that share only PostgreSQL, Redis and an S3-compatible store.

The store is a real server in a separate process. The site uses it over HTTP, as in production.
"""

from __future__ import annotations

import hashlib
import importlib.util
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from tests.requirements import need
from tests.servers import Servers, free_port
from tests.services.installation import Installation
from tests.services.sites import PATIENCE_SECONDS, program_at, site_of
from tests.web.api import COLUMNS, CONTENT, REQUEST

need(importlib.util.find_spec("moto"), "moto's S3 server: make .venv/done/full")

pytestmark = [pytest.mark.services, pytest.mark.timeout(480)]

BUCKET = "maps"

SECRETS = {"AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "nothing"}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Run a store with an empty bucket; yield its address."""
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    port = free_port()
    installation = Installation(tmp_path)
    with installation.running("-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)) as server:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not made_bucket(f"http://127.0.0.1:{port}"):
            assert server.poll() is None, (tmp_path / "log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"


def client(address: str) -> Any:
    import boto3

    return boto3.client("s3", endpoint_url=address, region_name="us-east-1")


def made_bucket(address: str) -> bool:
    from botocore.exceptions import BotoCoreError

    try:
        client(address).create_bucket(Bucket=BUCKET)
    except BotoCoreError:
        return False
    return True


def names_in(address: str) -> list[str]:
    listed = client(address).list_objects_v2(Bucket=BUCKET)
    return [each["Key"] for each in listed.get("Contents", [])]


@pytest.fixture
def hosts(store: str, servers: Servers, tmp_path: Path) -> Iterator[list[Installation]]:
    """Yield two hosts' installations, each in a separate folder."""
    shared = {
        **servers.migrated_environment(),
        "DPGEO_S3_BUCKET": BUCKET,
        "DPGEO_S3_ENDPOINT": store,
        "DPGEO_S3_REGION": "us-east-1",
        "DPGEO_SECRET_KEY": "the same on both hosts",
        "DPGEO_PERSON_KEY": "a key of person hashes for both hosts",
    }
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    with ExitStack() as stack:
        yield [stack.enter_context(closing(Installation(folder, shared))) for folder in folders]


def test_a_map_is_made_by_two_hosts_that_share_an_object_store(
    hosts: list[Installation], store: str
) -> None:
    first, second = hosts
    facts = first.ask("house", datasets=1)
    [slug] = facts["slugs"]
    with site_of(first) as one, site_of(second) as other, second.worker():
        here, there = program_at(one, facts), program_at(other, facts)
        begun = here.announce(slug, "trips.csv", len(CONTENT))
        here.append(begun, CONTENT[:500])
        there.append(begun, CONTENT[500:], 500)
        assert here.must("GET", begun)["state"] == "received"
        assert not [name for name in names_in(store) if "incoming" in name]
        confirmed = there.must("POST", f"{begun}/confirm", {"columns": COLUMNS})
        assert here.until_done(confirmed["job_url"])["has_result"]
        body = {"dataset": slug, "title": "A map", "publish_when_done": True, **REQUEST}
        job = here.must("POST", "/api/v1/releases", body, Idempotency_Key="once")
        assert there.until_done(job["url"])["has_result"]
        release = here.must("GET", job["release_url"])
        assert release["state"] == "published"
        check_files(here, release)
        check_files(there, release)
        kinds = {"/".join(name.split("/")[:2]) for name in names_in(store)}
        assert {"private/canonical", "private/blobs"} <= kinds
        # The upload has been read and the files are published, so neither is still in the private
        # storage.
        assert not {"private/uploads", "private/artefacts"} & kinds
        assert any(name.startswith(f"releases/{release['id']}/") for name in names_in(store))
        here.must("POST", f"{job['release_url']}/withdraw")
        gone = there.ask("GET", release["files"][0]["url"])
        assert gone.status == 410
        assert not any(name.startswith("releases/") for name in names_in(store))
    for host in hosts:
        left = [path for path in (host.folder / "var").rglob("*") if path.is_file()]
        assert not [path for path in left if "private" in path.parts or "releases" in path.parts]
    first.command("reap", "--once")


def made(site: Any, address: str) -> Any:
    """Return the response to a request for a file, after waiting until the file is made."""
    deadline = time.monotonic() + 120
    while (answer := site.ask("GET", address)).status == 202:
        assert time.monotonic() < deadline, address
        time.sleep(0.2)
    return answer


def check_files(site: Any, release: dict[str, Any]) -> None:
    """Check each file of a release, both whole and as a range, against its checksum."""
    for file in release["files"]:
        whole = made(site, file["url"])
        assert whole.status == 200
        listed = file["sha256"] or whole.headers["ETag"].strip('"')
        assert hashlib.sha256(whole.body).hexdigest() == listed
        part = site.ask("GET", file["url"], Range="bytes=3-12")
        assert (part.status, part.body) == (206, whole.body[3:13])
        assert int(part.headers["Content-Length"]) == 10
        end = site.ask("GET", file["url"], Range="bytes=-5")
        assert end.body == whole.body[-5:]
