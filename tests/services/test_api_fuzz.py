"""Whatever is sent to the API, it answers as its description says and never with a 5xx."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.requirements import need
from tests.services.installation import Installation

pytestmark = [pytest.mark.services, pytest.mark.timeout(600)]

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
        "header.Idempotency-Key": "second",
        "header.Upload-Offset": "0",
    }
    lines = [f'"{name}" = "{value}"' for name, value in names.items()]
    path.write_text("[parameters]\n" + "\n".join(lines) + "\n")


def test_no_input_makes_the_api_break_its_word(tmp_path: Path) -> None:
    need(FUZZER.exists(), "schemathesis: make test-all installs it")
    unlimited = {"DPGEO_REQUESTS_A_MINUTE": "0", "DPGEO_KEY_REQUESTS_A_MINUTE": "0"}
    installation = Installation(tmp_path, unlimited)
    prepared = installation.answer(
        installation.start("-m", "tests.services.posting", "prepare", "{}")
    )
    headers = prepared["headers"]
    server = f"http://127.0.0.1:{free_port()}"
    words = ("-c", "python:dpgeo.config.gunicorn", "-b", server.removeprefix("http://"))
    with installation.running("-m", "gunicorn", *words, "dpgeo.config.wsgi"):
        wait_until_served(server)
        write_settings(tmp_path / "schemathesis.toml", server, headers, prepared["body"])
        fuzzed = subprocess.run(
            [
                *(str(FUZZER), "run", f"{server}/api/schema"),
                *("-H", f"Authorization: {headers['Authorization']}"),
                *("--max-examples", str(EXAMPLES), "--seed", "1"),
                *("--phases", "examples,coverage,fuzzing,stateful", "-c", ",".join(CHECKS)),
                "--continue-on-failure",
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
    assert fuzzed.returncode == 0, fuzzed.stdout[-8000:]
    log = (tmp_path / "log").read_text()
    assert "An API request failed" not in log, log[-4000:]
