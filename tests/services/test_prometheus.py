"""The real Prometheus of Debian, which scrapes a site with the shipped configuration."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
import urllib.parse
from pathlib import Path
from typing import Any

import pytest

from tests.requirements import need
from tests.servers import free_port
from tests.services.installation import ROOT, Installation, kill
from tests.services.sites import Site, site_of

AUDIT = os.environ.get("DPGEO_AUDIT") == "1"

pytestmark = [
    pytest.mark.services,
    pytest.mark.skipif(not AUDIT, reason="runs in make audit"),
]

TOKEN = "a-token-for-this-test-alone"  # noqa: S105

PATIENCE_SECONDS = 120.0


def shipped(folder: Path, port: int) -> Path:
    """Write the shipped configuration for a site on another port; return the file's path.

    It is changed to scrape every second, and to raise alerts without a waiting time.
    """
    text = (ROOT / "deploy" / "prometheus.yml").read_text()
    for given, here in (("127.0.0.1:8000", f"127.0.0.1:{port}"), ("60s", "1s")):
        assert given in text
        text = text.replace(given, here)
    rules = (ROOT / "deploy" / "prometheus-alerts.yml").read_text()
    lines = [line for line in rules.splitlines() if not line.lstrip().startswith("for:")]
    (folder / "prometheus.yml").write_text(text)
    (folder / "prometheus-alerts.yml").write_text("\n".join(lines))
    (folder / "dpgeo-token").write_text(TOKEN)
    return folder / "prometheus.yml"


class Asked:
    """A running Prometheus server on a port, to which queries are sent."""

    def __init__(self, port: int) -> None:
        self.site = Site(port, {})

    def value(self, query: str) -> float | None:
        """Return the value of the only time series that a query finds, or None if it finds none."""
        words = urllib.parse.urlencode({"query": query})
        found = self.site.must("GET", f"/api/v1/query?{words}")["data"]["result"]
        return float(found[0]["value"][1]) if found else None

    def until(self, query: str, wanted: float) -> None:
        """Wait until a query has the value `wanted`."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (value := self.value(query)) != wanted:
            assert time.monotonic() < deadline, (query, value)
            time.sleep(0.3)

    def firing(self) -> set[str]:
        """Return the names of the alerts that fire."""
        alerts: list[Any] = self.site.must("GET", "/api/v1/alerts")["data"]["alerts"]
        return {each["labels"]["alertname"] for each in alerts if each["state"] == "firing"}


def test_prometheus_scrapes_the_site_and_raises_the_shipped_alerts(tmp_path: Path) -> None:
    program = shutil.which("prometheus")
    need(program is not None, "Prometheus: apt-get install --no-install-recommends prometheus")
    assert program
    installation = Installation(tmp_path)
    installation.environment |= {"DPGEO_METRICS_TOKEN": TOKEN}
    dataset = installation.ask("prepare", rows=200)["dataset"]
    own = free_port()
    with site_of(installation) as port:
        config = shipped(tmp_path, port)
        checked = subprocess.run(
            [str(shutil.which("promtool")), "check", "config", str(config)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert checked.returncode == 0, checked.stdout + checked.stderr
        with (tmp_path / "prometheus.log").open("wb") as log:
            process = subprocess.Popen(
                [program, f"--config.file={config}", f"--storage.tsdb.path={tmp_path / 'data'}",
                 f"--web.listen-address=127.0.0.1:{own}"],
                cwd=tmp_path, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        try:
            asked = Asked(own)
            deadline = time.monotonic() + PATIENCE_SECONDS
            while not is_ready(own):
                assert process.poll() is None, (tmp_path / "prometheus.log").read_text()
                assert time.monotonic() < deadline
                time.sleep(0.2)
            asked.until("up{job='dpgeo'}", 1)
            asked.until("dpgeo_jobs_unfinished", 0)
            release = installation.ask("request_unheard", dataset=dataset)["release"]
            asked.until("dpgeo_jobs_unfinished", 1)
            with installation.worker(), installation.reaper():
                installation.wait_for(release, state="published")
            asked.until("dpgeo_jobs_unfinished", 0)
            asked.until("sum(dpgeo_jobs_ended_total)", 1)
            for _ in range(3):
                Site(port, {}).ask("GET", "/maps/none/")
            asked.until("sum(dpgeo_requests_total{part='pages',status='4xx'})", 3)
            every_panel_has_values(asked)
            assert not asked.firing() & {"DpgeoDown", "DpgeoDiskLow", "DpgeoErrors"}
        finally:
            kill(process)


def every_panel_has_values(asked: Asked) -> None:
    """Check that Prometheus returns values for each query of the shipped dashboard."""
    board = json.loads((ROOT / "deploy" / "grafana-dashboard.json").read_text())
    queries = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    assert len(queries) >= 6
    for query in queries:
        text = query.replace("$__rate_interval", "1m").replace("$__range", "1h")
        asked.value(text)  # an invalid query makes the request fail


def is_ready(port: int) -> bool:
    try:
        return Site(port, {}).ask("GET", "/-/ready").status == 200
    except OSError:
        return False
