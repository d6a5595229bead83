"""The page on ASVS 5.0 lists every requirement of levels 1 and 2 once, and tests that exist."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]

WALK = (ROOT / "docs" / "security" / "asvs.md").read_text()

ROWS = re.findall(r"^\| ([\d.]+) \| (met|\*\*not met\*\*|n/a) \| (.*) \|$", WALK, re.MULTILINE)

NUMBERS = """
    1.1:1-2 1.2:1-9 1.3:1-11 1.4:1-3 1.5:1-2 2.1:1-3 2.2:1-3 2.3:1-4 2.4:1 3.2:1-2 3.3:1-4
    3.4:1-6 3.5:1-5 3.7:1-2 4.1:1-3 4.2:1 4.3:1-2 4.4:1-4 5.1:1 5.2:1-3 5.3:1-2 5.4:1-3
    6.1:1-3 6.2:1-12 6.3:1-4 6.4:1-4 6.5:1-5 6.6:1-3 6.8:1-4 7.1:1-3 7.2:1-4 7.3:1-2 7.4:1-5
    7.5:1-2 7.6:1-2 8.1:1-2 8.2:1-3 8.3:1 8.4:1 9.1:1-3 9.2:1-4 10.1:1-2 10.2:1-2 10.3:1-4
    10.4:1-11 10.5:1-5 10.6:1-2 10.7:1-3 11.1:1-2 11.2:1-3 11.3:1-3 11.4:1-4 11.5:1 11.6:1
    12.1:1-3 12.2:1-2 12.3:1-4 13.1:1 13.2:1-5 13.3:1-2 13.4:1-5 14.1:1-2 14.2:1-4 14.3:1-3
    15.1:1-3 15.2:1-3 15.3:1-7 16.1:1 16.2:1-5 16.3:1-4 16.4:1-3 16.5:1-3 17.1:1 17.2:1-4
    17.3:1-2
"""
"""Sections of ASVS 5.0, each with the range of its requirements of levels 1 and 2: "1.1:1-2"."""


def numbers() -> list[str]:
    """Return the numbers of all requirements of levels 1 and 2 of the OWASP ASVS."""
    found = []
    for part in NUMBERS.split():
        section, _, last = part.partition(":")
        first, _, end = last.partition("-")
        found += [f"{section}.{number}" for number in range(int(first), int(end or first) + 1)]
    return found


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


def test_each_requirement_of_levels_1_and_2_is_listed_once() -> None:
    assert len(numbers()) == 253
    assert Counter(number for number, _, _ in ROWS) == Counter(numbers())


def test_each_test_that_the_walk_names_exists() -> None:
    named = [each for _, _, words in ROWS for each in named_tests(words)]
    assert len(named) > 100
    assert named_tests("`tests/a.py::test_b`, `::test_c`") == [
        ("tests/a.py", "test_b"),
        ("tests/a.py", "test_c"),
    ]
    missing = [f"{path}::{name}" for path, name in named if name not in names_in(path)]
    assert not missing


def test_what_is_not_met_says_so_and_each_row_says_why() -> None:
    assert [number for number, _, words in ROWS if not words] == []
    states = Counter(state.strip("*") for _, state, _ in ROWS)
    [told] = re.findall(r"(\d+) of (\d+) are met, (\d+) are not met, (\d+) do not apply", WALK)
    assert [int(each) for each in told] == [
        states["met"],
        len(ROWS),
        states["not met"],
        states["n/a"],
    ]
