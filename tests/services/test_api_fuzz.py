"""Whatever is sent to the API, it answers as its description says and never with a 5xx."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.requirements import need
from tests.services.installation import Installation

pytestmark = [
    pytest.mark.services,
    pytest.mark.timeout(7200 if os.environ.get("DPGEO_AUDIT") else 1200),
]

FUZZER = Path(sys.executable).parent / "schemathesis"

EXAMPLES = 500 if os.environ.get("DPGEO_AUDIT") else 50
"""For each address, beside those that its schema's limits suggest."""

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def wait_until_served(address: str) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(f"{address}/healthz", timeout=5):  # noqa: S310
                return
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.2)


def ask(address: str, headers: dict[str, str], body: Any) -> Any:
    """Post JSON; the answer."""
    request = urllib.request.Request(  # noqa: S310
        address,
        data=json.dumps(body).encode(),
        headers={**headers, "Content-Type": "application/json", "Idempotency-Key": "first"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        return json.load(answer)


def write_settings(path: Path, server: str, headers: dict[str, str], body: Any) -> None:
    """Names of things that are there, so that the fuzzer gets beyond 404."""
    job = ask(f"{server}/api/v1/releases", headers, body)
    uploads = f"{server}/api/v1/datasets/{body['dataset']}/uploads"
    upload = ask(uploads, headers, {"file_name": "a.csv", "size": 1000})
    names = {
        "path.slug": body["dataset"],
        "path.release_id": job["release_url"].rpartition("/")[2],
        "path.job_id": job["id"],
        "path.upload_id": upload["id"],
        "path.layer": "cells",
        "header.Idempotency-Key": "second",
        "header.Upload-Offset": "0",
    }
    lines = [f'"{name}" = "{value}"' for name, value in names.items()]
    path.write_text("[parameters]\n" + "\n".join(lines) + "\n")


def fuzz(folder: Path, description: str, phases: str, *words: str) -> None:
    """Try to make a server break the word that a description of it gives."""
    fuzzed = subprocess.run(
        [
            *(str(FUZZER), "run", description, *words),
            *("--max-examples", str(EXAMPLES), "--seed", "1"),
            *("--phases", phases, "-c", ",".join(CHECKS)),
            "--continue-on-failure",
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert fuzzed.returncode == 0, fuzzed.stdout[-8000:]
    log = (folder / "log").read_text()
    assert "An API request failed" not in log, log[-4000:]


@contextmanager
def served(folder: Path, action: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The address of a server of its own, and what an action prepared there."""
    need(FUZZER.exists(), "schemathesis: make test-all installs it")
    unlimited = {"DPGEO_REQUESTS_A_MINUTE": "0", "DPGEO_KEY_REQUESTS_A_MINUTE": "0"}
    installation = Installation(folder, unlimited)
    prepared = installation.answer(installation.start("-m", "tests.services.posting", action, "{}"))
    server = f"http://127.0.0.1:{free_port()}"
    words = ("-c", "python:dpgeo.config.gunicorn", "-b", server.removeprefix("http://"))
    with installation.running("-m", "gunicorn", *words, "dpgeo.config.wsgi"):
        wait_until_served(server)
        yield server, prepared


def test_no_input_makes_the_api_break_its_word(tmp_path: Path) -> None:
    with served(tmp_path, "prepare") as (server, prepared):
        headers = prepared["headers"]
        write_settings(tmp_path / "schemathesis.toml", server, headers, prepared["body"])
        key = ("-H", f"Authorization: {headers['Authorization']}")
        fuzz(tmp_path, f"{server}/api/schema", "examples,coverage,fuzzing,stateful", *key)


def test_no_input_makes_the_features_break_their_word(tmp_path: Path) -> None:
    with served(tmp_path, "published") as (server, prepared):
        lines = [f'"path.collectionId" = "{prepared["release"]}.cells"', '"path.featureId" = 3']
        (tmp_path / "schemathesis.toml").write_text("[parameters]\n" + "\n".join(lines) + "\n")
        fuzz(tmp_path, f"{server}/ogc/api", "examples,coverage,fuzzing")
