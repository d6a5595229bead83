"""Extraction of messages from Python, Django templates and TypeScript.

In Python, a message is a constant that is the first argument of one of MARKERS or of an error, or
the value of a keyword argument in KEYWORDS. If the argument is a name, it stands for the module's
constant of that name. API clients and operators get English, so the errors of the API and of the
commands are not extracted. PrivacyError is not extracted either, because it shows a fault in a
mechanism and concerns only the mechanism's author.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

PAGES, SCRIPTS = "django", "djangojs"
"""The two catalogues: one for pages, and one for texts that pages pass to their scripts."""

ENGLISH = ("api", "commands", "config")
"""Packages whose errors stay English, because they address programs and operators."""

GETTEXT = {"_", "gettext", "gettext_lazy", "gettext_noop"}
MARKERS = GETTEXT | {"Phrase", "InvalidValue", "translatable", "shown_by_scripts"}
KEYWORDS = {
    "Forecast": ("region", "plural"),
    "forecast_cells": ("region",),
    "LayerFormat": ("use",),
    "StyleFormat": ("use",),
    "FileKind": ("title", "use"),
    "Spend": ("label",),
    "BoxLayer": ("title",),
    "PointLayer": ("title",),
    "ShapeLayer": ("title",),
}


@dataclass(frozen=True, slots=True, order=True)
class Message:
    """A text to translate, with its plural and context, if any."""

    text: str
    plural: str = ""
    context: str = ""


Found = dict[Message, str]
"""Messages, each with the first file that contains it."""


def extract() -> dict[str, Found]:
    """Return all messages for each catalogue, in the order of the files."""
    by_catalogue: dict[str, Found] = {PAGES: {}, SCRIPTS: {}}
    for domain, message, path in _everything():
        if re.search(r"[^\W\d_]", re.sub(r"{[^}]*}|%\(\w+\)s", "", message.text)):
            by_catalogue[domain].setdefault(message, path)
    return by_catalogue


def _everything() -> Iterator[tuple[str, Message, str]]:
    modules = sorted(ROOT.glob("dpgeo/**/*.py"))
    errors = _errors(path.read_text() for path in modules) - {"PrivacyError"}
    for path in modules:
        name = str(path.relative_to(ROOT))
        marked = MARKERS if name.split("/")[1] not in ENGLISH else GETTEXT
        if "/migrations/" not in name:
            known = marked | errors if marked is MARKERS else marked
            yield from ((*each, name) for each in python_messages(path.read_text(), known))
    yield from ((*each, "dpgeo/mechanisms/registry.py") for each in _registered())
    for path in sorted(ROOT.glob("dpgeo/*/templates/**/*.*")):
        if path.suffix in {".html", ".txt"}:
            name = str(path.relative_to(ROOT))
            yield from ((PAGES, each, name) for each in template_messages(path.read_text()))
    for path in sorted(ROOT.glob("frontend/src/**/*.ts")):
        if not path.name.endswith(".test.ts"):
            name = str(path.relative_to(ROOT))
            yield from ((SCRIPTS, Message(t), name) for t in script_messages(path.read_text()))


def _errors(sources: Iterable[str]) -> set[str]:
    """Return the names of the error classes whose messages people read.

    In the sources, a class must come after the class that it derives from.
    """
    classes = {"DpgeoError", "InvalidInput", "Conflict"}
    for source in sources:
        for name, base in re.findall(r"^class (\w+)\((\w+)\):", source, re.M):
            classes |= {name} if base in classes else set()
    return classes


def python_messages(source: str, markers: set[str]) -> Iterator[tuple[str, Message]]:
    """Yield the messages marked for translation in a module, as pairs of catalogue and message."""
    tree = ast.parse(source)
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from _of_call(node, markers, constants)
        elif isinstance(node, ast.ClassDef) and _is_choices(node):
            yield from ((PAGES, Message(text)) for text in _labels(node))


def _of_call(
    call: ast.Call, markers: set[str], constants: dict[str, ast.expr]
) -> Iterator[tuple[str, Message]]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    first = call.args[:1]
    if name == "ngettext":
        forms = [text for each in call.args[:2] for text in _texts(each, constants)]
        if forms:
            yield PAGES, Message(*forms)
    elif name in markers:
        domains = (PAGES, SCRIPTS) if name == "shown_by_scripts" else (PAGES,)
        for text in _texts(first[0], constants) if first else ():
            yield from ((domain, Message(text)) for domain in domains)
    wanted = KEYWORDS.get(name, ())
    given = {each.arg: each.value for each in call.keywords if each.arg in wanted}
    given |= dict(zip(wanted, call.args, strict=False)) if name == "FileKind" else {}
    for key, value in given.items():
        for text in _texts(value, constants):
            yield PAGES, Message(text)
            if key == "region" and "plural" not in given:
                yield PAGES, Message(f"{text}s")


def _texts(node: ast.expr, constants: dict[str, ast.expr]) -> Iterator[str]:
    """Yield the constant texts that an expression may evaluate to."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _texts(node.body, constants)
        yield from _texts(node.orelse, constants)
    elif isinstance(node, ast.Name) and node.id in constants:
        yield from _texts(constants[node.id], {})


def _is_choices(node: ast.ClassDef) -> bool:
    return any(
        isinstance(base, ast.Attribute) and base.attr == "TextChoices" for base in node.bases
    )


def _labels(node: ast.ClassDef) -> Iterator[str]:
    for each in node.body:
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.Tuple):
            yield from _texts(each.value.elts[1], {})


def _registered() -> Iterator[tuple[str, Message]]:
    """Yield the titles, summaries, parameters and choices of all mechanisms.

    The title of a parameter, which is made from its name, is included, too.
    """
    from dpgeo.core.parameters import parameters
    from dpgeo.core.time_slices import TIME_SLICES
    from dpgeo.mechanisms.registry import MECHANISMS
    from dpgeo.spatial.places import CELL_LEVELS, EVERYWHERE

    for mechanism in MECHANISMS.values():
        yield from ((PAGES, Message(each)) for each in (mechanism.title, mechanism.summary))
        for each in parameters(mechanism.params):
            label = each.name.replace("_", " ").capitalize()
            texts = (label, each.description, each.beyond, *each.choices)
            yield from ((PAGES, Message(text)) for text in texts)
    titles = [title for slices in TIME_SLICES.values() for title in slices.titles]
    titles += [level.capitalize() for level in (*CELL_LEVELS, EVERYWHERE)]
    yield from ((domain, Message(title)) for title in titles for domain in (PAGES, SCRIPTS))


STRING = r'u?("(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\')'
CALL = re.compile(rf"\b(?P<f>n?p?gettext|_)\({STRING}(?:,\s*{STRING})?(?:,\s*{STRING})?")


def template_messages(source: str) -> Iterator[Message]:
    """Yield the messages of a Django template."""
    from django.utils.translation.template import templatize

    for match in CALL.finditer(templatize(source)):
        texts = [ast.literal_eval(each) for each in match.groups()[1:] if each]
        context = texts.pop(0) if "p" in match["f"] else ""
        plural = texts[1] if match["f"].startswith("n") else ""
        yield Message(texts[0], plural, context)


LITERAL = re.compile(r'(?:^\(|[?:])\s*("(?:[^"\\]|\\.)*")')


def script_messages(source: str) -> Iterator[str]:
    """Yield the string literals that the first argument of a call of t() or message() may be.

    The argument is one literal, or a conditional expression (a ? "b" : "c") between several.
    """
    for match in re.finditer(r"(?<![\w.])(?:t|message)\(", source):
        call = source[match.end() - 1 : _end_of_call(source, match.end())]
        yield from (json.loads(literal) for literal in LITERAL.findall(call))


def _end_of_call(source: str, start: int) -> int:
    """Return the index of a call's closing parenthesis; its opening one is just before `start`."""
    depth, quote, at = 1, "", start
    while depth:
        letter = source[at]
        if quote:
            at += letter == "\\"
            quote = "" if letter == quote else quote
        elif letter in "\"'`":
            quote = letter
        else:
            depth += (letter == "(") - (letter == ")")
        at += 1
    return at - 1
