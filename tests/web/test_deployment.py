"""Server requirements: health checks, production settings and container files."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from celery import current_app
from django.test import Client
from django.urls import reverse
from kombu import Connection

from dpgeo.commands.connections import ABOUT_UPLOADS
from dpgeo.config import settings as production
from dpgeo.ingest.confinement import missing_protections
from dpgeo.jobs.lease import MAX_HOLD_SECONDS

pytestmark = pytest.mark.one_database

ROOT = Path(__file__).resolve().parent.parent.parent
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if service.get("build")}
SECRETS = ("DPGEO_DATABASE_PASSWORD", "DPGEO_BROKER_PASSWORD", "DPGEO_SECRET_KEY")


@pytest.mark.django_db
def test_a_server_is_ready_when_its_database_is_migrated_and_its_broker_answers(
    client: Client,
) -> None:
    answer = client.get("/readyz")
    assert answer.status_code == 200
    expected = {"disk": "enough space", "database": "migrated", "broker": "reachable"}
    expected["status"] = "ok"
    assert answer.json() == expected
    assert "no-cache" in answer["Cache-Control"]


@pytest.mark.django_db
def test_a_server_without_its_broker_is_not_ready_but_healthy(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        current_app, "connection_for_write", lambda: Connection("redis://127.0.0.1:1/0")
    )
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["broker"]) == (503, "unreachable")
    assert client.get("/healthz").status_code == 200


@pytest.mark.django_db
def test_a_server_whose_database_is_not_migrated_is_not_ready(client: Client) -> None:
    from django.db.migrations.recorder import MigrationRecorder

    MigrationRecorder.Migration.objects.filter(app="budgets").delete()
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["database"]) == (503, "not migrated")


def manage(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run manage.py with production settings and an otherwise empty environment."""
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "DPGEO_VAR": str(folder), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_deployment_check_finds_nothing_under_production_settings(tmp_path: Path) -> None:
    if missing_protections():
        pytest.skip("this kernel cannot confine the reading of uploads, which is a warning")
    checked = manage(
        tmp_path,
        *("check", "--deploy", "--fail-level", "WARNING"),
        DPGEO_HTTPS="1",
        DPGEO_HOSTS="maps.example.org",
        DPGEO_ORIGIN="https://maps.example.org",
        DPGEO_EMAIL_URL="smtp+tls://user:word@mail.example.org:587",
    )
    assert checked.returncode == 0, checked.stderr


COOKIES = """
import json
from django.conf import settings as s
names = [s.SESSION_COOKIE_NAME, s.CSRF_COOKIE_NAME, s.DPGEO_DEVICE_COOKIE]
secure = [s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE]
elsewhere = [s.SESSION_COOKIE_DOMAIN, s.CSRF_COOKIE_DOMAIN]
paths = [s.SESSION_COOKIE_PATH, s.CSRF_COOKIE_PATH]
print(json.dumps([names, secure, elsewhere, paths]))
"""


def test_cookies_are_bound_to_this_host_under_https(tmp_path: Path) -> None:
    """Under https, cookies are bound to this host.

    Browsers accept a cookie whose name begins with `__Host-` only if it is secure, is set for this
    host, and has the path `/`.
    """
    shown = manage(tmp_path, *("shell", "--no-imports", "-c", COOKIES), DPGEO_HTTPS="1")
    assert shown.returncode == 0, shown.stderr
    names, secure, elsewhere, paths = json.loads(shown.stdout)
    assert names == [f"__Host-dpgeo_{each}" for each in ("session", "csrf", "device")]
    assert secure == [True] * 2
    assert (elsewhere, paths) == ([None, None], ["/", "/"])


SHOW = """
import json
from django.conf import settings as s
print(json.dumps([s.CELERY_BROKER_TRANSPORT_OPTIONS, s.STORAGES, s.DATABASES["default"]["NAME"]]))
"""


@pytest.mark.django_db
def test_programs_are_not_redirected_to_https_but_refused(settings: Any) -> None:
    """Programs that use http get an error, since a redirect would hide that a key was sent in the
    clear.
    """
    settings.HTTPS = settings.SECURE_SSL_REDIRECT = True
    settings.SECURE_REDIRECT_EXEMPT = production.SECURE_REDIRECT_EXEMPT
    for address in ("/api/v1/releases", "/ogc/"):
        refused = Client().get(address)
        assert (refused.status_code, "https" in refused.json()["detail"]) == (403, True)
        assert Client().get(address, secure=True).status_code == 200
    assert Client().get("/").status_code == 301


def test_redis_delivers_no_job_twice_while_it_runs(tmp_path: Path) -> None:
    shown = manage(
        tmp_path,
        *("shell", "--no-imports", "-c", SHOW),
        CELERY_BROKER_URL="redis://:word@127.0.0.1:1/0",
        DATABASE_URL="postgres://dpgeo:word@127.0.0.1:1/maps",
        DPGEO_S3_BUCKET="maps",
    )
    assert shown.returncode == 0, shown.stderr
    broker, storages, database = json.loads(shown.stdout)
    assert broker["visibility_timeout"] > MAX_HOLD_SECONDS
    assert database == "maps"
    private, public = (storages[name]["OPTIONS"] for name in ("private", "releases"))
    assert private["bucket_name"] == public["bucket_name"] == "maps"
    assert private["location"] != public["location"]
    assert private["default_acl"] is None


def test_collected_files_are_readable_by_all_and_private_folders_by_their_owner(
    tmp_path: Path,
) -> None:
    """Everybody may read the collected static files; only their owner may read private folders.

    This also holds if the clone and its build were made with umask 077.
    """
    command = shlex.join([sys.executable, "manage.py", "collectstatic", "--noinput", "-v", "0"])
    static = tmp_path / "static"
    static.mkdir(mode=0o700)
    subprocess.run(
        ["/bin/sh", "-c", f"umask 077; {command}"],
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "DPGEO_VAR": str(tmp_path / "var"),
            "DPGEO_STATIC": str(static),
        },
        check=True,
        timeout=120,
    )
    collected = [static, *static.rglob("*")]
    assert any(path.suffix == ".gz" for path in collected)
    modes = {(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in collected}
    assert modes == {(True, 0o755), (False, 0o644)}
    private = [tmp_path / "var", *(tmp_path / "var").iterdir()]
    assert {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in private} == {0}


@pytest.mark.parametrize("name", SERVICES)
def test_each_container_is_confined(name: str) -> None:
    """Each container is read-only and unprivileged, with limited memory and limited logs."""
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    # Caddy's program requires this capability, which lets it listen on port 443.
    assert service.get("cap_add", []) == (["NET_BIND_SERVICE"] if name == "tls" else [])
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert re.search(r"\d+[mg]\}?$", service["mem_limit"])
    assert service["logging"]["options"].keys() == {"max-size", "max-file"}
    temporary = [each.split(":")[0] for each in service.get("tmpfs", [])]
    written = [each.split(":")[-1] for each in service.get("volumes", [])]
    assert "/tmp" in temporary + written  # noqa: S108
    assert name in OURS or name == "tls" or service["user"] != "root"


def test_images_have_exact_versions() -> None:
    """Images have pinned versions, so that building the same files later gives the same image."""
    bases = re.findall(r"^FROM (\S+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    others = [each["image"] for each in SERVICES.values() if not each.get("build")]
    assert len(bases) == 2
    assert len(others) == 4
    for image in bases + others:
        assert re.search(r":\d+\.\d+(\.\d+)?(-(slim-)?bookworm(-slim)?)?$", image), image


def test_secrets_are_required_and_have_no_default() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    for secret in SECRETS:
        assert set(re.findall(rf"\${{{secret}[^}}]*}}", text)) == {f"${{{secret}:?}}"}


def test_healthz_answers_without_a_database_a_broker_or_a_disk(
    client: Client, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    """A pod without a database stays in rotation: it serves the page that says so.

    This test has no mark `django_db`, so the use of the database would be an error.
    """

    def gone(*_: Any, **__: Any) -> None:
        raise OSError("no such device")

    settings.HTTPS = settings.SECURE_SSL_REDIRECT = True
    settings.SECURE_REDIRECT_EXEMPT = production.SECURE_REDIRECT_EXEMPT
    monkeypatch.setattr(current_app, "connection_for_write", gone)
    monkeypatch.setattr("dpgeo.api.health.read_disk_space", gone)
    for host in ("127.0.0.1", "localhost"):
        for method in (client.get, client.head):
            answer = method("/healthz", headers={"host": host})
            assert answer.status_code == 200
    assert client.get("/healthz").json() == {"status": "ok"}
    assert "no-cache" in answer["Cache-Control"]


def test_a_database_whose_machine_is_gone_is_given_up_after_seconds(tmp_path: Path) -> None:
    script = "from django.conf import settings as s; print(s.DATABASES['default']['OPTIONS'])"
    shown = manage(
        tmp_path,
        *("shell", "--no-imports", "-c", script),
        DATABASE_URL="postgres://dpgeo:word@127.0.0.1:1/maps",
    )
    assert "'connect_timeout': 5" in shown.stdout


@pytest.mark.parametrize(
    "name", ["desk-layers", "desk-layer-ready", "api:layers", "desk-practice", "desk-upload-new"]
)
def test_what_waits_for_a_slot_keeps_no_thread_that_answers_visitors(name: str) -> None:
    assert ABOUT_UPLOADS.match(reverse(name, kwargs={"slug": "trips"}))
    assert not ABOUT_UPLOADS.match(reverse("api:dataset", kwargs={"slug": "trips"}))


def dockerfile(instruction: str) -> list[str]:
    """Return the arguments of the last instruction of this kind in the Dockerfile, such as CMD."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    words = [line for line in text.splitlines() if line.startswith(f"{instruction} ")][-1]
    rest = words.removeprefix(instruction).strip()
    parsed = yaml.safe_load(rest) if rest.startswith("[") else shlex.split(rest)
    return [str(word) for word in parsed]


def test_the_image_runs_without_privileges_and_copies_existing_files() -> None:
    assert dockerfile("USER") == ["dpgeo"]
    text = (ROOT / "Dockerfile").read_text()
    allowed = (ROOT / ".dockerignore").read_text().split()
    for line in re.findall(r"^COPY (?!--from)(.+)$", text, re.MULTILINE):
        for source in line.split()[:-1]:
            assert (ROOT / source).exists(), source
            assert f"!{source.split('/')[0]}" in allowed
    assert set(re.findall(r"DPGEO_\w+(?==/srv|=/var)", text)) == {"DPGEO_VAR", "DPGEO_STATIC"}
    assert "--require-hashes" in text
