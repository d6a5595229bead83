"""Extraction of messages from Python, templates and scripts, and the message catalogues."""

from __future__ import annotations

import ast
import gettext
from pathlib import Path

import pytest

from translations.__main__ import warnings
from translations.catalogue import read_po, write_mo, write_po
from translations.extract import (
    ENGLISH,
    ROOT,
    Message,
)


def test_catalogues_are_written_read_and_compiled(tmp_path: Path) -> None:
    messages = {
        Message('Say "{name}"\n'): "a.py",
        Message("one", "many"): "b.html",
        Message("May", "", "month"): "b.html",
        Message("untranslated"): "a.py",
    }
    translated = {
        Message('Say "{name}"\n'): ('Sagen Sie "{name}"\n',),
        Message("one", "many"): ("eins", "viele"),
        Message("May", "", "month"): ("Mai",),
    }
    write_po(tmp_path / "django.po", "de", messages, translated)
    assert read_po(tmp_path / "django.po") == translated
    folder = tmp_path / "de" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    write_mo(folder / "django.mo", "de", translated)
    german = gettext.translation("django", tmp_path, ["de"])
    assert german.gettext('Say "{name}"\n') == 'Sagen Sie "{name}"\n'
    assert [german.ngettext("one", "many", count) for count in (1, 2)] == ["eins", "viele"]
    assert german.pgettext("month", "May") == "Mai"
    assert list(warnings(tmp_path / "django.po", messages)) == [
        "django.po: a.py: not translated: untranslated"
    ]


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
