"""Imports within dpgeo: no cycles, and no heavy libraries when the site starts."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SELDOM = {"boto3", "botocore", "fido2", "jwt", "prometheus_client", "pyrage", "qrcode"} | {
    *("lxml", "onelogin", "py4j", "pyspark", "xmlsec")
}
"""Packages that only some installations or commands use."""

HEAVY = {"PIL", "duckdb", "geopandas", "h3", "pandas", "pyarrow", "pyogrio", "pyproj"} | SELDOM
"""Packages that take too long to load when the site starts, so only functions import them."""

"""Modules of allauth that load the package fido2, or the HTTP client for sign-in providers."""

Import = ast.Import | ast.ImportFrom
Function = ast.FunctionDef | ast.AsyncFunctionDef


def name_of(path: Path) -> str:
    """Return the module name of a file."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {name_of(path): path for path in sorted((ROOT / "dpgeo").rglob("*.py"))}


def targets(statement: Import) -> Iterator[str]:
    """Yield the modules that an import statement imports."""
    if isinstance(statement, ast.Import):
        yield from (each.name for each in statement.names)
        return
    for each in statement.names:
        name = f"{statement.module}.{each.name}"
        yield name if name in MODULES else str(statement.module)


def imports(tree: ast.AST, *, late: bool = False) -> Iterator[tuple[Import, bool]]:
    """Yield each import and whether it is late, which means inside a function or for the type
    checker only.
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Import):
            yield node, late
        else:
            typing = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            yield from imports(node, late=late or typing or isinstance(node, Function))


@cache
def statements_of(module: str) -> tuple[tuple[Import, bool], ...]:
    """Return the imports of a module of dpgeo, as `imports` yields them."""
    return tuple(imports(ast.parse(MODULES[module].read_text())))


def loaded(name: str, target: str) -> Iterator[str]:
    """Yield the module `target`, which `name` imports, and the packages that contain it.

    Only modules of dpgeo are meant. Packages that also contain `name` are left out, because Python
    is loading them already.
    """
    parts = target.split(".")
    for length in range(1, len(parts) + 1):
        each = ".".join(parts[:length])
        if each in MODULES and not f"{name}.".startswith(f"{each}."):
            yield each


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {
        name: {
            each
            for statement, _ in statements_of(name)
            for target in targets(statement)
            for each in loaded(name, target)
        }
        for name in MODULES
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_the_site_starts_without_heavy_libraries(tmp_path: Path) -> None:
    script = "import sys, dpgeo.config.wsgi, dpgeo.config.urls"
    modules = subprocess.run(
        [sys.executable, "-c", f"{script}; print(*sys.modules)"],
        cwd=ROOT,
        env={**os.environ, "DPGEO_VAR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout.split()
    assert "dpgeo.api.urls" in modules
    assert not HEAVY.intersection(modules)


OPEN = {"Content", "CONTENT_TYPES", "Released", "Kind", "KINDS"}
"""Names that stand for no particular kind of release, so every module of dpgeo may import them."""

OF_ONE_KIND = (
    "core",
    "privacy",
    "engine",
    "mechanisms",
    "postprocess.layers",
    "postprocess.tree_areas",
    "postprocess.surface_areas",
)
"""Packages of dpgeo that may have modules for a single kind of release."""

OWN_PARTS = {
    "dpgeo.artefacts.flow_files",
    "dpgeo.artefacts.own_wording",
    "dpgeo.pages.flow_rows",
    "dpgeo.pages.place_rows",
    "dpgeo.pages.moved_points",
    "dpgeo.pages.trip_tables",
    "dpgeo.postprocess.flow_answers",
    "dpgeo.postprocess.made_up_trips",
    "dpgeo.postprocess.trip_model",
    "dpgeo.postprocess.top_places",
}
"""Modules about a single kind of release that are allowed outside the OF_ONE_KIND packages."""


def test_no_door_names_a_kind_of_release_or_its_content_type() -> None:
    named = {
        f"{module}: {each.name}"
        for module in MODULES
        if not module.startswith(tuple(f"dpgeo.{room}" for room in OF_ONE_KIND))
        for statement, _ in statements_of(module)
        if isinstance(statement, ast.ImportFrom)
        and statement.module in {"dpgeo.core.released", "dpgeo.core.kinds"}
        for each in statement.names
        if each.name not in OPEN and module not in OWN_PARTS
    }
    assert not named
