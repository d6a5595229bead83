"""Reading of parts of files in an object store."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest

from dpgeo.artefacts import geoparquet, table
from dpgeo.artefacts.feature_pages import FeatureFile
from dpgeo.datasets.storage import open_parts
from dpgeo.postprocess.layers import layers
from tests.unit.artefacts.releases import grid_release


class Remote:
    """A stored file with the interface of boto3's objects; it counts the bytes it sends."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.content_length = len(content)
        self.sent = 0

    def get(self, Range: str) -> dict[str, Any]:  # noqa: N803 - boto3's name
        match = re.fullmatch(r"bytes=(\d+)-(\d+)", Range)
        assert match, Range
        part = self._content[int(match[1]) : int(match[2]) + 1]
        assert part, Range  # an object store refuses a request for an empty range of bytes
        self.sent += len(part)
        return {"Body": io.BytesIO(part)}


class Store:
    """A storage that opens `Remote` files."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    def open(self, name: str, mode: str = "rb") -> Any:
        opened: Any = io.BytesIO()
        return type("Opened", (), {"obj": self._remote, "file": opened})()


def test_a_remote_file_reads_like_a_local_one() -> None:
    content = bytes(range(256)) * 1000
    remote: Any = Remote(content)
    store: Any = Store(remote)
    with open_parts(store, "any") as file:
        assert file.seek(-8, io.SEEK_END) == len(content) - 8
        assert file.read() == content[-8:]
        assert file.read(5) == b""
        assert file.seek(1000) == 1000
        assert file.read(10) == content[1000:1010]
        assert file.seek(5, io.SEEK_CUR) == file.tell() == 1015
        assert file.read(3) == content[1015:1018]
        assert remote.sent < len(content) / 4
        file.seek(0)
        assert file.read() == content


def test_a_page_of_features_reads_only_part_of_a_remote_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "CHUNK", 8192)
    released, path = grid_release(cells=512), tmp_path / "cells.parquet"
    geoparquet.write(released, layers(released)[0], path)
    remote = Remote(path.read_bytes())
    store: Any = Store(remote)
    with path.open("rb") as local, open_parts(store, "any") as parts:
        assert FeatureFile(parts).page(9000, 5) == FeatureFile(local).page(9000, 5)
    assert 0 < remote.sent < path.stat().st_size / 4
