"""New upload formats, which need only one reader and one line in the registry."""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dpgeo.ingest import forms, sniff
from dpgeo.ingest.batch import Batch, Head, Reader
from dpgeo.ingest.formats import FORMATS, SUFFIXES, InputFormat, Start
from dpgeo.ingest.ingestion import ingest
from dpgeo.ingest.preview import preview
from dpgeo.ingest.report import Tally
from tests.unit.ingest.helpers import KEY, schema


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.title)
def test_every_format_has_a_reader(form: InputFormat) -> None:
    assert isinstance(form.load_reader(), Reader)


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.title)
def test_what_a_library_parses_is_read_in_the_sandbox(form: InputFormat) -> None:
    """Every format that is parsed by a library is read in the sandbox.

    A reader outside the sandbox may use only arrays and the parsers of Python's standard library.
    """
    module = importlib.import_module(f"dpgeo.ingest.{form.reader.split('.')[0]}")
    tree = ast.parse(inspect.getsource(module))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import)
             for alias in node.names}  # fmt: skip
    names |= {
        f"{node.module}.{alias.name}" if node.module == "pyarrow" else str(node.module)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    names |= {
        f"pyarrow.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "pa"
        and node.attr in {"csv", "dataset", "feather", "ipc", "json", "orc", "parquet"}
    }
    arrays = {"numpy", "pyarrow", "pyarrow.compute"}
    parsers = {
        name
        for name in names - arrays
        if name in {"sqlite3", "xml.parsers"}
        or (name.split(".")[0] not in {*sys.stdlib_module_names, "dpgeo"}
        and not name.startswith("numpy."))
    }  # fmt: skip
    assert form.sandboxed or not parsers, parsers


def test_file_suffixes_are_declared_once() -> None:
    assert len(set(SUFFIXES)) == len(SUFFIXES)
    assert all(suffix.startswith(".") for suffix in SUFFIXES)


def read_points(path: Path, wanted: Any, tally: Tally, *, crs: str) -> Iterator[Batch]:
    """Yield batches from lines of two numbers and a name, without a header."""
    rows = [line.split() for line in path.read_text().splitlines()[1:]]
    tally.read += len(rows)
    columns = {"longitude": 0, "latitude": 1, "person": 2}
    fields = {role: pa.array([row[columns[name]] for row in rows]) for role, name in wanted.items()}
    yield Batch(np.arange(1, len(rows) + 1), fields, 1, 1)


def read_head(path: Path) -> Head:
    rows = [line.split() for line in path.read_text().splitlines()[1:]]
    return Head(["longitude", "latitude", "person"], rows)


def test_a_registered_reader_is_previewed_and_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_points(start: Start) -> bool:
        return start.text.startswith(b"POINTS\n")

    form = InputFormat(
        title="points",
        code="points",
        reader="points_reader.READER",
        suffixes=(".points",),
        matches=is_points,
        sandboxed=False,
    )
    reader = SimpleNamespace(READER=Reader(read_points, read_head))
    real = importlib.import_module
    monkeypatch.setattr(
        importlib,
        "import_module",
        lambda name: reader if name == "dpgeo.ingest.points_reader" else real(name),
    )
    monkeypatch.setattr(sniff, "FORMATS", (form, *FORMATS))
    monkeypatch.setitem(forms.CODES, "points", form)
    path = tmp_path / "a.points"
    path.write_text("POINTS\n0.5 50.5 anna\n0.6 50.4 ben\nnan 50.4 carl\n")

    shown = preview(path, "a.points")
    assert (shown.suggested.longitude, shown.suggested.person) == ("longitude", "person")
    columns = shown.suggested
    target = tmp_path / "canonical.parquet"
    report = ingest(path, "a.points", schema(columns), KEY, target, lambda done, total: None)
    assert (report.read, report.accepted) == (3, 2)
