"""The table of promises in docs/checks.md names tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]

NAMED = re.compile(r"`([\w/]*\.py)?::(test_\w+)`")


def test_the_tests_that_hold_promises_exist() -> None:
    file, named = "", []
    for path, test in NAMED.findall((ROOT / "docs" / "checks.md").read_text(encoding="utf-8")):
        file = path or file
        named.append((file, test))
    known = {
        (path, each.name)
        for path in {path for path, _ in named}
        for each in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8")))
        if isinstance(each, ast.FunctionDef)
    }
    assert len(named) > 40
    assert sorted(set(named) - known) == []
