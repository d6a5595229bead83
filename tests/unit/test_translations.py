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
    MARKERS,
    PAGES,
    ROOT,
    SCRIPTS,
    Message,
    python_messages,
    script_messages,
    template_messages,
)

MODULE = """
TITLE = "A title"
raise InvalidInput("No {name!r}." if one else "None.", name=name)
Phrase(TITLE)
shown_by_scripts("both")
ngettext("one file", "{count} files", count)
Forecast(region="cell")
Forecast(region="unit and cluster", plural="units and clusters")
InvalidInput(error)

class State(models.TextChoices):
    DRAFT = "draft", "A draft"
"""

TEMPLATE = """{% load i18n %}{% translate "Hello" %}{{ day|date:_("j F Y") }}
{% blocktranslate trimmed count n=n %}
  {{ n }} map
{% plural %}
  {{ n }} maps
{% endblocktranslate %}{% translate "May" context "month" %}"""

SCRIPT = """
const TITLES = { people: message("People per zone") };
note(t("in {count} cells", { count }), t(people ? "People" : "Visits"), t(title));
"""


def test_messages_of_python_are_found() -> None:
    messages = list(python_messages(MODULE, MARKERS | {"InvalidInput"}))
    assert {message for domain, message in messages if domain == PAGES} == {
        *map(Message, ("No {name!r}.", "None.", "A title", "both", "cell", "cells", "A draft")),
        Message("unit and cluster"),
        Message("units and clusters"),
        Message("one file", "{count} files"),
    }
    assert {message for domain, message in messages if domain == SCRIPTS} == {Message("both")}


def test_messages_of_templates_are_found() -> None:
    assert set(template_messages(TEMPLATE)) == {
        Message("Hello"),
        Message("j F Y"),
        Message("%(n)s map", "%(n)s maps"),
        Message("May", "", "month"),
    }


def test_messages_of_scripts_are_found() -> None:
    assert list(script_messages(SCRIPT)) == [
        "People per zone",
        "in {count} cells",
        "People",
        "Visits",
    ]


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
