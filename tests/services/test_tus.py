"""Uploads by a standard tus client to real web servers, one of which drops the connection."""

from __future__ import annotations

import importlib.util
import socket
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.requirements import need
from tests.services.installation import Installation
from tests.services.sites import program_at, site_of
from tests.web.api import COLUMNS, CONTENT

need(importlib.util.find_spec("tusclient"), "tuspy: make .venv/done/full")

pytestmark = [pytest.mark.services, pytest.mark.timeout(480)]

PIECE = 300


def client_of(port: int, slug: str, headers: dict[str, str]) -> Any:
    from tusclient.client import TusClient

    return TusClient(f"http://127.0.0.1:{port}/api/v1/datasets/{slug}/uploads/tus", headers)


def break_off(address: str, headers: dict[str, str], content: bytes, at: int, sent: int) -> None:
    """Begin a request for the rest of a file, send `sent` bytes of it, and close the connection."""
    url = urlsplit(address)
    named = {
        **headers,
        "Host": url.netloc,
        "Tus-Resumable": "1.0.0",
        "Content-Type": "application/offset+octet-stream",
        "Content-Length": str(len(content) - at),
        "Upload-Offset": str(at),
    }
    lines = [f"PATCH {url.path} HTTP/1.1", *(f"{name}: {text}" for name, text in named.items())]
    with socket.create_connection((url.hostname or "", url.port or 0)) as line:
        line.sendall("\r\n".join([*lines, "", ""]).encode() + content[at : at + sent])
        line.shutdown(socket.SHUT_WR)
        while line.recv(4096):
            pass


def test_a_stock_client_sends_a_file_and_resumes_it_at_another_server(
    installation: Installation, tmp_path: Path
) -> None:
    from tusclient.exceptions import TusCommunicationError

    facts = installation.ask("house", datasets=1)
    [slug] = facts["slugs"]
    file = tmp_path / "trips.csv"
    file.write_bytes(CONTENT)
    named = {"filename": "trips.csv"}
    with site_of(installation) as one, site_of(installation) as other:
        client = client_of(one, slug, facts["headers"])
        sending = client.uploader(str(file), chunk_size=PIECE, metadata=named)
        sending.upload(stop_at=2 * PIECE)
        assert sending.get_offset() == sending.offset == 2 * PIECE
        break_off(sending.url, facts["headers"], CONTENT, 2 * PIECE, 100)

        there = sending.url.replace(f":{one}/", f":{other}/")
        resumed = client_of(other, slug, facts["headers"]).uploader(str(file), url=there)
        assert resumed.offset == 2 * PIECE + 100
        resumed.upload()
        assert resumed.offset == resumed.get_offset() == len(CONTENT)

        site = program_at(one, facts)
        upload = sending.url.removesuffix("/tus")
        seen = site.must("GET", upload)
        assert (seen["state"], seen["size"], seen["file_name"]) == (
            "received",
            len(CONTENT),
            "trips.csv",
        )
        assert site.must("POST", f"{upload}/confirm", {"columns": COLUMNS})["state"] == "working"

        second = client.uploader(str(file), chunk_size=PIECE, metadata=named)
        second.upload_chunk()
        spoken = {"Tus_Resumable": "1.0.0"}
        assert site.ask("DELETE", second.url, **spoken).status == 204
        with pytest.raises(TusCommunicationError) as gone:
            second.get_offset()
        assert gone.value.status_code == 404
