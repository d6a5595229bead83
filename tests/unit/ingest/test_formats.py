"""New upload formats, which need only one reader and one line in the registry."""

from __future__ import annotations

import ast
import importlib
import inspect
import sys

import pytest

from dpgeo.ingest.formats import FORMATS, InputFormat


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
