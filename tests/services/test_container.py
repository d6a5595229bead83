"""Every step of the Dockerfile and every service of the compose file, run without Docker.

`make audit` also runs the steps that install the packages and builds the scripts. Other runs use
this environment's packages and the scripts that are already built.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from dpgeo.commands.age_files import passing_identity
from tests.containers import Image, Step, build, context_of, interpolate, parse, python_folders
from tests.requirements import need
from tests.servers import (
    INSTALL,
    free_port,
    running_postgresql,
    running_servers,
    servers_installed,
)
from tests.services.installation import ROOT
from tests.services.sites import Site

pytestmark = pytest.mark.services

AUDIT = os.environ.get("DPGEO_AUDIT") == "1"

PATIENCE_SECONDS = 90.0

VALUES = {
    "DPGEO_DATABASE_PASSWORD": "unused",
    "DPGEO_BROKER_PASSWORD": "unused",
    "DPGEO_SECRET_KEY": "a-secret-key-for-this-test-alone-" + "x" * 32,
    "DPGEO_HOSTS": "maps.example.org",
}
SERVICES: dict[str, Any] = interpolate(
    yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"], VALUES
)


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    """Build the image from a copy of the project that no other account can read."""
    if os.geteuid():
        pytest.skip("building an image without Docker needs root")
    folder = tmp_path_factory.mktemp("container")
    for each in (folder, folder.parent):
        each.chmod(0o711)
    if subprocess.run(["unshare", "--mount", "true"], check=False).returncode:
        pytest.skip("this machine allows no mount namespaces")
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    context = context_of(ROOT, folder / "context", tracked.stdout.strip("\0").split("\0"))
    scripts, site = parse((ROOT / "Dockerfile").read_text())
    bound = list(python_folders())
    if AUDIT:
        built = Image(folder / "scripts", [Path(str(shutil.which("npm"))).parent], [])
        build(scripts, built, context, stages={}, skip=lambda step: False)
        made = Image(folder / "site", [Path("/opt/image/bin")], bound)
        made.run([f"{sys.base_prefix}/bin/python3", "-m", "venv", "/opt/image"])
    else:
        need((ROOT / "frontend" / "dist" / "manifest.json").exists(), "the map's build: make run")
        dist = folder / "scripts" / "build" / "frontend" / "dist"
        shutil.copytree(ROOT / "frontend" / "dist", dist)
        subprocess.run(["chmod", "--recursive", "go-rwx", str(dist)], check=True)
        made = Image(folder / "site", [Path(sys.prefix).resolve() / "bin"], bound)
    build(site, made, context, stages={"frontend": folder / "scripts"}, skip=skipped)
    yield made
    shutil.rmtree(folder, ignore_errors=True)


def skipped(step: Step) -> bool:
    """Return whether to skip a step, because it runs only in `make audit`."""
    return not AUDIT and "pip install" in step.rest


def test_the_image_is_read_by_its_user_and_written_by_root_alone(image: Image) -> None:
    """The site can serve static files that root collected from a copy made with umask 077."""
    assert image.user == "dpgeo"
    collected = image.inside("static")
    assert len(list(collected.rglob("*.js"))) > 3
    for path in (image.inside("."), *image.inside(".").rglob("*")):
        facts = path.stat()
        wanted = 0o555 if path.is_dir() else 0o444
        assert stat.S_IMODE(facts.st_mode) & wanted & 0o444 == 0o444, path
        assert not path.is_dir() or facts.st_mode & 0o111 == 0o111, path
        assert (facts.st_uid, facts.st_mode & 0o022) == (0, 0), path


def test_private_folders_belong_to_the_user_and_no_key_is_in_the_image(image: Image) -> None:
    (volume,) = image.volumes
    private = image.inside(volume)
    facts = private.stat()
    assert (facts.st_uid, facts.st_gid) == image.ids()
    assert stat.S_IMODE(facts.st_mode) == 0o700
    assert not list(private.iterdir())
    assert not [*image.root.rglob("secret-key*"), *image.root.rglob("person-key*")]
    assert not image.inside("/tmp/build").exists()  # noqa: S108


class Stack:
    """The compose file's services, run from this image with this machine's PostgreSQL and Redis."""

    def __init__(self, image: Image, folder: Path, servers: Mapping[str, str]) -> None:
        self.image, self.folder = image, folder
        self.ports = {"8000": str(free_port()), "8080": str(free_port())}
        self.servers = servers
        self.files, self.certificates = folder / "files", folder / "certificates"
        self.files.mkdir()
        self.certificates.mkdir()
        facts = image.inside(image.volumes[0]).stat()
        self.files.chmod(stat.S_IMODE(facts.st_mode))
        os.chown(self.files, facts.st_uid, facts.st_gid)

    def options(self, name: str) -> dict[str, Any]:
        """Return the options with which the compose file runs a service, such as its user."""
        service = SERVICES[name]
        assert service["read_only"]
        if name == "proxy":
            return {"read_only": True, "tmpfs": ["/tmp"], "user": "www-data"}  # noqa: S108
        if name == "tls":
            return {
                "read_only": True,
                "user": "root",
                "tmpfs": [each.split(":")[0] for each in service["tmpfs"]],
                "volumes": {"/data": self.certificates},
                # XDG_DATA_HOME is set by Caddy's own image, which is not used here.
                "environment": {
                    **service["environment"],
                    "DPGEO_UPSTREAM": f"127.0.0.1:{self.ports['8080']}",
                    "XDG_DATA_HOME": "/data",
                },
            }
        environment = {key: str(value) for key, value in service["environment"].items()}
        assert environment.keys() >= self.servers.keys()
        return {
            "read_only": True,
            "environment": {**environment, **self.servers},
            "volumes": {self.image.volumes[0]: self.files},
            "tmpfs": [each.split(":")[0] for each in service["tmpfs"]],
        }

    def words(self, command: list[str]) -> list[str]:
        """Return a command with its ports replaced by the ports of this test."""
        text = "\0".join(command)
        for port, free in self.ports.items():
            text = re.sub(rf"\b{port}\b", free, text)
        return text.split("\0")

    def run(self, name: str, command: list[str]) -> str:
        """Run a command in a service's container, and return its output."""
        return self.image.run(self.words(command), **self.options(name))

    @contextlib.contextmanager
    def running(
        self, name: str, command: list[str] | None = None
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Run a service within the block, and kill it at the end."""
        command = self.words(command or SERVICES[name].get("command") or self.image.command)
        with (self.folder / f"{name}.log").open("wb") as log:
            process = self.image.start(command, stdout=log, stderr=log, **self.options(name))
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def wait_until_healthy(self, name: str, process: subprocess.Popen[bytes]) -> None:
        """Run a service's health check until it passes; fail if the service ends first."""
        test = SERVICES[name]["healthcheck"]["test"]
        assert test[0] == "CMD"
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.start(name, test[1:]).wait():
            log = (self.folder / f"{name}.log").read_text()[-4000:]
            assert process.poll() is None, log
            assert time.monotonic() < deadline, log
            time.sleep(0.5)

    def start(self, name: str, command: list[str]) -> subprocess.Popen[bytes]:
        """Start a command in a service's container; its output is discarded."""
        silent: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return self.image.start(self.words(command), **silent, **self.options(name))

    def ask(self, path: str) -> tuple[int, Mapping[str, str], bytes]:
        """Return the proxy's response to a request forwarded by an outer https proxy."""
        headers = {"X-Forwarded-Proto": "https", "Accept-Encoding": "gzip"}
        proxy = Site(int(self.ports["8080"]), {**headers, "Host": "maps.example.org"})
        answer = proxy.ask("GET", path)
        return answer.status, dict(answer.headers), answer.body


@pytest.fixture
def stack(image: Image, tmp_path: Path) -> Iterator[Stack]:
    """Yield the services, with test servers for PostgreSQL and Redis, and a configured proxy."""
    need(servers_installed(), INSTALL)
    need(Path("/usr/sbin/nginx").exists(), "nginx: apt-get install nginx-light")
    with running_servers() as servers:
        services = Stack(image, tmp_path, servers.environment())
        source, target, _ = SERVICES["proxy"]["volumes"][0].split(":")
        text = (ROOT / source).read_text().replace("server web:8000", "server 127.0.0.1:8000")
        # A file puts the proxy into maintenance. The test cannot write to the container's /tmp, so
        # the proxy looks for that file in another folder here.
        text = text.replace("/tmp/maintenance", "/etc/nginx/maintenance")  # noqa: S108
        image.inside(target).write_text(services.words([text])[0])
        page, shown, _ = SERVICES["proxy"]["volumes"][1].split(":")
        shutil.copy(ROOT / page, image.inside(shown))
        yield services


def test_the_containers_start_and_serve(stack: Stack) -> None:
    """The services start and serve with the compose file's commands, users, folders and limits."""
    image = stack.image
    stack.run("migrate", SERVICES["migrate"]["command"])
    with contextlib.ExitStack() as services:
        web = services.enter_context(stack.running("web"))
        worker = services.enter_context(stack.running("worker"))
        files = services.enter_context(stack.running("files"))
        reaper = services.enter_context(stack.running("reaper"))
        stack.wait_until_healthy("web", web)
        proxy = services.enter_context(stack.running("proxy"))
        stack.wait_until_healthy("proxy", proxy)
        status, headers, body = stack.ask("/api/docs")
        assert (status, headers["Content-Encoding"]) == (200, "gzip")
        status, _, body = stack.ask("/accounts/login/")
        assert status == 200
        for address in set(re.findall(r'(?:src|href)="(/static/[^"]+)"', unpacked(body))):
            status, headers, content = stack.ask(address)
            assert (status, bool(content)) == (200, True), address
            assert headers["Content-Encoding"] == "gzip" or not address.endswith((".js", ".css"))
        assert stack.ask("/readyz")[0] == 200
        for process in (web, worker, files, reaper, proxy):
            assert process.poll() is None
        check_maintenance(stack)
        check_backup(stack)
    for folder in ("private", "incoming", "releases", "queue"):
        facts = (stack.files / folder).stat()
        assert (stat.S_IMODE(facts.st_mode), facts.st_uid) == (0o700, image.ids()[0])
    with pytest.raises(AssertionError, match="Read-only file system"):
        stack.run("web", ["touch", "/srv/dpgeo/written"])


def check_maintenance(stack: Stack) -> None:
    """Check that in maintenance the docs can be read, and that the desk answers 503 with a page."""
    flag = stack.image.inside("/etc/nginx") / "maintenance"
    flag.touch()
    try:
        assert stack.ask("/api/docs")[0] == 200
        status, headers, body = stack.ask("/desk/")
        assert (status, headers["Retry-After"]) == (503, "60")
        assert "maintained" in unpacked(body)
    finally:
        flag.unlink()
    assert stack.ask("/desk/")[0] == 302


def check_backup(stack: Stack) -> None:
    """Check that the backup service writes two archives, data and keys, for its own user alone."""
    folder = stack.folder / "backups"
    folder.mkdir()
    place = stack.image.inside("/backups").stat()
    assert (place.st_uid, stat.S_IMODE(place.st_mode)) == (stack.image.ids()[0], 0o700)
    os.chown(folder, *stack.image.ids())
    command = SERVICES["backup"]["command"]
    once = [word for word in command if word not in {"--every", "24"}]
    options = stack.options("backup")
    options["volumes"] = {**options["volumes"], "/backups": folder}
    options["environment"] = {
        **options["environment"],
        "DPGEO_BACKUP_RECIPIENTS": str(passing_identity().to_public()),
    }
    stack.image.run(once, **options)
    assert len(list(folder.glob("dpgeo-*.tar.age"))) == 2
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def unpacked(body: bytes) -> str:
    """Return the text of a gzipped page."""
    return gzip.decompress(body).decode() if body[:2] == b"\x1f\x8b" else body.decode()


def test_the_site_is_no_superuser_of_its_database() -> None:
    """The script that PostgreSQL's image runs first gives the site an account of its own.

    With this account, the site can create tables but has no rights of a superuser.
    """
    need(servers_installed() and shutil.which("psql") is not None, INSTALL)
    mounts = [each.split(":") for each in SERVICES["database"]["volumes"]]
    (script,) = [each[0] for each in mounts if each[1].startswith("/docker-entrypoint-initdb.d/")]
    environment = SERVICES["database"]["environment"]
    assert environment == {"POSTGRES_PASSWORD": VALUES["DPGEO_DATABASE_PASSWORD"]}
    with running_postgresql(name="postgres") as (address, _):
        words = ["psql", "-v", "ON_ERROR_STOP=1", "--no-psqlrc", "--quiet"]
        made = subprocess.run(
            [*words, "--file", ROOT / script, f"{address}/postgres"],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert made.returncode == 0, made.stderr
        own = re.sub("//.*@", f"//dpgeo:{VALUES['DPGEO_DATABASE_PASSWORD']}@", address)
        with psycopg.connect(f"{own}/dpgeo", autocommit=True) as connection:
            connection.execute("CREATE TABLE own (id int)")
            for refused in (
                "CREATE ROLE other",
                "CREATE DATABASE other",
                "COPY own FROM PROGRAM 'id'",
                "ALTER ROLE dpgeo SUPERUSER",
            ):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(refused)
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(f"{address}/postgres")
