"""Extraction of messages from Python, templates and scripts, and the message catalogues."""

from __future__ import annotations

import ast

import pytest

from translations.extract import (
    ENGLISH,
    ROOT,
)


@pytest.mark.parametrize("name", ["Phrase", "InvalidInput", "Conflict", "NotAllowed"])
def test_templates_are_constant(name: str) -> None:
    """Messages in templates are constant, because no catalogue could contain assembled ones."""
    wrong = [
        f"{path}:{node.lineno}"
        for path in ROOT.glob("dpgeo/**/*.py")
        if path.relative_to(ROOT).parts[1] not in ENGLISH
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == name
        and any(isinstance(each, ast.JoinedStr | ast.BinOp) for each in node.args)
    ]
    assert wrong == []
