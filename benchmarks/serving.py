"""Request rates of the web server for a map's page and files, 304s, and a thousand releases.

The benchmark starts its own installation, as `serve --web-only` does, and sends requests with
wrk. On a busy machine only the processor time in milliseconds is meaningful: 2000 divided by it is
the highest number of requests per second that two cores can serve. `of_bare` is the ratio of that
time to the time of a reference, which is the same server without Django, serving the bytes of the
map's array from memory. If nginx is installed, the files of a published map are also requested from
it with the configuration that we ship (`deploy/nginx.conf`), and processor time includes its own.
Left out are TLS, the network, and the pages of members, which no proxy keeps. Pages of features and
of collections are requested by two clients at a time, since a process computes two and refuses
further ones as busy (503); how many it refuses under more load is left out, too. wrk runs on the
same processors and takes part of their time.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.report import report

Figures = dict[str, float]

SITE, BARE = "dpgeo.config.wsgi", "benchmarks.serving_bare"

NGINX = "/usr/sbin/nginx"

AT_A_TIME = 2
"""Number of the OGC API's pages of features that a process computes at a time
(`dpgeo.api.heavy_work`).
"""

COST = "processor_ms_per_request"

SERVE = """
from functools import partial
from dpgeo.commands.supervisor import Copy, Supervisor
from dpgeo.commands import web_server
from {application} import application

serve = partial(web_server.serve, application, web_server.listen("127.0.0.1", {port}))
Supervisor([Copy("Web", (), work=serve) for _ in range(web_server.PROCESSES)], say=print).run()
"""

FILL = """
import django
django.setup()
from benchmarks.serving_data import fill
print(fill({releases}))
"""

SCRIPT = """
wrk.headers["Accept-Encoding"] = "gzip"
if '{etag}' ~= '' then wrk.headers["If-None-Match"] = '{etag}' end
done = function(summary, latency, requests)
  io.write(string.format("FIGURES %d %d %d %d %d\\n", summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(95),
    summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.timeout))
end
"""


def add_to(subcommands: Any) -> None:
    """Add the subcommand `serving` to the command line."""
    parser = subcommands.add_parser("serving", help=__doc__)
    parser.add_argument("--releases", type=int, default=1000)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--seconds", type=int, default=10, help="of each measurement")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.set_defaults(run=measure)


def measure(options: argparse.Namespace) -> None:
    """Print a line for each kind of request. Raises ValueError if wrk is not installed."""
    if shutil.which("wrk") is None:
        raise ValueError("wrk is not installed: apt-get install wrk")
    with tempfile.TemporaryDirectory(prefix="dpgeo-serving-") as name:
        folder = Path(name)
        environment = {
            **os.environ,
            "DPGEO_VAR": str(folder / "var"),
            "DJANGO_SETTINGS_MODULE": "dpgeo.config.settings",
            "DPGEO_REQUESTS_A_MINUTE": "0",
        }
        environment.pop("DATABASE_URL", None)
        release = _fill(environment, options.releases)
        with _serving(environment, SITE) as (server, process):
            bare = _measure_bare(server, environment, folder, options, release)
            report({"what": "the map's array by bare WSGI", **bare, "of_bare": 1.0}, options.json)
            for what, path, again in _asked(release):
                figures = _measure(server + path, folder, [process], options, again=again)
                share = figures[COST] / bare[COST]
                report({"what": what, **figures, "of_bare": share}, options.json)
            if shutil.which(NGINX) is None:
                return
            with _proxy(server, folder) as (front, proxy):
                for what, path, again in _asked(release)[:4]:
                    processes = [process, proxy]
                    figures = _measure(front + path, folder, processes, options, again=again)
                    share = figures[COST] / bare[COST]
                    report({"what": f"{what}, proxy", **figures, "of_bare": share}, options.json)


def _measure_bare(
    server: str,
    environment: dict[str, str],
    folder: Path,
    options: argparse.Namespace,
    release: str,
) -> Figures:
    """Return the figures of the reference server, measured while the site gets no requests."""
    body = folder / "body"
    address = f"{server}/api/v1/releases/{release}/files/map.bin"
    request = urllib.request.Request(address, headers={"Accept-Encoding": "gzip"})  # noqa: S310
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        body.write_bytes(answer.read())
    with _serving(environment | {"DPGEO_BARE_BODY": str(body)}, BARE) as (bare, process):
        return _measure(f"{bare}/", folder, [process], options, again=False)


def _asked(release: str) -> list[tuple[str, str, bool]]:
    """Return, for each kind of request, its name, its URL, and whether the client has it cached."""
    file = f"/api/v1/releases/{release}/files"
    return [
        ("the map's page", f"/maps/{release}/", False),
        ("the map's array", f"{file}/map.bin", False),
        ("the same, held already", f"{file}/map.bin", True),
        ("the map's picture", f"{file}/preview.png", False),
        ("list of 20 releases", "/api/v1/releases", False),
        ("list of 100 releases", "/api/v1/releases?limit=100", False),
        ("20 releases of an area", "/api/v1/releases?bbox=4,52,5,53", False),
        ("list of 20 datasets", "/api/v1/datasets", False),
        ("list of collections", "/ogc/collections", False),
        ("100 features", f"/ogc/collections/{release}.cells/items", False),
        ("the catalogue's page", "/", False),
    ]


def _fill(environment: dict[str, str], releases: int) -> str:
    for words in (["manage.py", "migrate", "-v", "0"], ["-c", FILL.format(releases=releases)]):
        done = subprocess.run(  # noqa: S603
            [sys.executable, *words], env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise ValueError(done.stderr[-2000:])
    return done.stdout.split()[-1]


@contextmanager
def _serving(
    environment: dict[str, str], application: str
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{probe.getsockname()[1]}"
    port = place.rpartition(":")[2]
    words = ["manage.py", "serve", "--web-only", "--port", port]
    if application != SITE:
        words = ["-c", SERVE.format(application=application, port=port)]
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, *words],
        env=environment,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
    )
    try:
        _wait(f"http://{place}/healthz")
        yield f"http://{place}", process
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=20)


@contextmanager
def _proxy(server: str, folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Run nginx, with the configuration that this project ships, in front of a server; yield its
    address and process.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{probe.getsockname()[1]}"
    text = (Path(__file__).parents[1] / "deploy" / "nginx.conf").read_text()
    for shipped, here in (
        ("web:8000", server.removeprefix("http://")),
        ("listen 8080", f"listen {place}"),
        ("/tmp/", f"{folder}/"),  # noqa: S108
    ):
        text = text.replace(shipped, here)
    configuration = folder / "nginx.conf"
    configuration.write_text(text)
    # If root starts nginx, its workers would run as a user who cannot write to the folder.
    user = "user root; " if os.geteuid() == 0 else ""
    process = subprocess.Popen(  # noqa: S603
        [NGINX, "-c", str(configuration), "-g", f"{user}daemon off;"], start_new_session=True
    )
    try:
        _wait(f"http://{place}/healthz")
        yield f"http://{place}", process
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=20)


def _wait(address: str) -> None:
    for _ in range(300):
        try:
            urllib.request.urlopen(address, timeout=5).close()  # noqa: S310
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise ValueError("The server does not answer.")


def _measure(
    address: str,
    folder: Path,
    processes: Sequence[subprocess.Popen[bytes]],
    options: argparse.Namespace,
    *,
    again: bool,
) -> Figures:
    request = urllib.request.Request(address, headers={"Accept-Encoding": "gzip"})  # noqa: S310
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        etag = answer.headers["ETag"] if again else ""
    script = folder / "script.lua"
    script.write_text(SCRIPT.format(etag=etag))
    # A process computes only a few pages of features at a time and refuses further ones as busy.
    connections = min(options.connections, AT_A_TIME) if "/ogc/" in address else options.connections
    words = ["wrk", "-t", "1", "-c", str(connections), "-d", f"{options.seconds}s"]
    before = sum(_processor_seconds(each.pid) for each in processes)
    done = subprocess.run(  # noqa: S603
        [*words, "--timeout", "30s", "-s", str(script), address],
        capture_output=True,
        text=True,
        check=True,
    )
    spent = sum(_processor_seconds(each.pid) for each in processes) - before
    match = re.search(r"FIGURES (\d+) (\d+) (\d+) (\d+) (\d+)", done.stdout)
    if match is None:
        raise ValueError(done.stdout)
    requests, duration, median, high, errors = map(int, match.groups())
    return {
        "requests_per_second": requests / (duration / 1e6),
        "p50_ms": median / 1e3,
        "p95_ms": high / 1e3,
        COST: 1000 * spent / max(requests, 1),
        "errors": errors,
    }


def _processor_seconds(session: int) -> float:
    """Return the processor time in seconds that the processes of a session have used so far."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # this process has ended since it was listed
            continue
        if int(fields[3]) == session:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")
