"""The page on ASVS 5.0 lists every requirement of levels 1 and 2 once, and tests that exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]

WALK = (ROOT / "docs" / "security" / "asvs.md").read_text()

ROWS = re.findall(r"^\| ([\d.]+) \| (met|\*\*not met\*\*|n/a) \| (.*) \|$", WALK, re.MULTILINE)

"""Sections of ASVS 5.0, each with the range of its requirements of levels 1 and 2: "1.1:1-2"."""


@cache
def names_in(path: str) -> set[str]:
    """Return the names of the tests in a file."""
    tree = ast.parse((ROOT / path).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def named_tests(text: str) -> list[tuple[str, str]]:
    """Return the files and names of the tests that a text names."""
    found, path = [], ""
    for file, name in re.findall(r"`(tests/[\w/]+\.py)?::(test_\w+)`", text):
        path = file or path
        found.append((path, name))
    return found


def test_each_test_that_the_walk_names_exists() -> None:
    named = [each for _, _, words in ROWS for each in named_tests(words)]
    assert len(named) > 100
    assert named_tests("`tests/a.py::test_b`, `::test_c`") == [
        ("tests/a.py", "test_b"),
        ("tests/a.py", "test_c"),
    ]
    missing = [f"{path}::{name}" for path, name in named if name not in names_in(path)]
    assert not missing
