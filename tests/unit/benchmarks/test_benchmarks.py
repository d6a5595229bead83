"""`python -m benchmarks` reports missing packages before it starts."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import math
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks import __main__ as runner
from benchmarks import geoind
from tests.requirements import need

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


@pytest.mark.parametrize(
    "command",
    [
        "accuracy --generated city --cells 16 --trials 1 --mechanism uniform-grid",
        "answer-coverage --kind even --cells 8 --scale 1e3 --mechanism uniform-grid",
        "bound-advice --invented 60 --cells 8 --epsilon 1",
        "bound-choice --invented 60 --cells 8 --trials 1 --mechanism uniform-grid --epsilon 20",
        "growth --csv --rows 1000 2000",
        "large-files --cells 64",
        "literature --task sizes --trials 2",
        "literature --task averages --trials 2",
        "literature --task places --trials 1",
    ],
)
def test_it_prints_figures(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    need(importlib.util.find_spec("scipy"), "SciPy: make packages-full")
    assert runner.main([*command.split(), "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines
    for line in lines:
        assert any(isinstance(value, float) and math.isfinite(value) for value in line.values())
