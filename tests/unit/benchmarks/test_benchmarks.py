"""`python -m benchmarks` reports missing packages before it starts."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks import __main__ as runner
from benchmarks import geoind

ROOT = Path(__file__).parents[3]
OWN = {"benchmarks", "dpgeo", "tests", "fixtures"}
OTHER_NAMES = {"PIL": "pillow"}


def imported(module: ModuleType) -> set[str]:
    """Return the top-level packages that a benchmark imports, directly or through local modules."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(Path(str(module.__file__)).read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    own = [importlib.import_module(name) for name in names if name.startswith("benchmarks.")]
    return {name.split(".")[0] for name in names}.union(*map(imported, own))


@pytest.mark.parametrize("benchmark", runner.SUBCOMMANDS, ids=lambda module: module.__name__)
def test_each_benchmark_names_every_package_it_needs_beyond_those_of_dpgeo(
    benchmark: ModuleType,
) -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    installed = {line.split(">")[0].split("[")[0].strip() for line in declared}
    needed = {
        name
        for name in imported(benchmark) - OWN - set(sys.stdlib_module_names)
        if OTHER_NAMES.get(name, name) not in installed
    }
    assert needed == set(runner.PACKAGES.get(benchmark, ()))


def test_a_missing_package_is_named_with_the_way_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(geoind, "run", lambda options: pytest.fail("it started"), raising=False)
    assert runner.main(["geoind"]) == 2
    assert "scipy; install the packages" in capsys.readouterr().err
