"""Weight of the project: lines, files per option, own calls per request, tests and words.

Code lines are lines with a token other than a comment or docstring. The files per option are those
of `dpgeo/` that mention `household`, an integer that a release request has had for a while. Own
calls are calls of functions in `dpgeo/` within a request, counted with `sys.setprofile`: one for
the page of a map, as the first request of a process, and one for the JSON of its release, asked
twice before. The number of quick tests is what `make test` collects.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.report import report

ROOT = Path(__file__).resolve().parents[1]

OPTION = "household"
"""Option of a release request whose mentions are counted."""

DOCUMENTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**/*.md")

FILL = """
import django
django.setup()
from benchmarks.serving_data import fill
print(fill(1))
"""

CALLS = """
import json, sys, django
django.setup()
from benchmarks.weight import request_calls
print(json.dumps(request_calls(sys.argv[1])))
"""

IGNORED = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}


def add_to(subcommands: Any) -> None:
    """Add the subcommand `weight` to the command line."""
    parser = subcommands.add_parser("weight", help=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.set_defaults(run=measure)


def measure(options: argparse.Namespace) -> None:
    """Print one line for each figure."""
    package, tests = list(_sources("dpgeo")), list(_sources("tests"))
    words = sum(
        len(path.read_text().split()) for pattern in DOCUMENTS for path in ROOT.glob(pattern)
    )
    for what, value in (
        ("lines of Python in dpgeo/, without migrations", sum(map(all_lines, package))),
        ("of these, code", sum(map(code_lines, package))),
        ("code lines in tests/", sum(map(code_lines, tests))),
        ("words of documents", words),
        ("files in dpgeo/ that mention one option of a request", len(option_files())),
    ):
        report({"what": what, "value": value}, options.json)
    for what, figures in _calls_in_new_site().items():
        report({"what": what, **figures}, options.json)
    report({"what": "quick tests", "value": quick_tests()}, options.json)


def _sources(folder: str) -> Iterator[Path]:
    for path in sorted((ROOT / folder).rglob("*.py")):
        if "migrations" not in path.parts:
            yield path


def all_lines(path: Path) -> int:
    """Return the number of lines of a file."""
    return len(path.read_text().splitlines())


def code_lines(path: Path) -> int:
    """Return the number of lines that hold code, not only comments, docstrings or blanks."""
    text = path.read_text()
    docstrings = set[int]()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            docstrings.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = set[int]()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in IGNORED:
            lines.update(range(token.start[0], token.end[0] + 1))
    last = text.count("\n") + 1  # the line of the token that ends the file
    return len(lines - docstrings - {last})


def option_files() -> list[Path]:
    """Return the files of dpgeo/, Python and templates, that mention the option."""
    mention = re.compile(rf"\b{OPTION}\b")
    files = [*_sources("dpgeo"), *sorted((ROOT / "dpgeo").rglob("*.html"))]
    return [path for path in files if mention.search(path.read_text())]


def _calls_in_new_site() -> dict[str, dict[str, int]]:
    with tempfile.TemporaryDirectory(prefix="dpgeo-weight-") as folder:
        environment = {
            **os.environ,
            "DPGEO_VAR": folder,
            "DJANGO_SETTINGS_MODULE": "dpgeo.config.settings",
        }
        environment.pop("DATABASE_URL", None)
        _run(environment, "manage.py", "migrate", "-v", "0")
        release = _run(environment, "-c", FILL).split()[-1]
        printed = _run(environment, "-c", CALLS, release)
    figures: dict[str, dict[str, int]] = json.loads(printed.splitlines()[-1])
    return figures


def _run(environment: dict[str, str], *words: str) -> str:
    """Run Python in a process of its own and return what it prints."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, *words],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ValueError(done.stderr[-2000:])
    return done.stdout


def request_calls(release: str) -> dict[str, dict[str, int]]:
    """Count the own calls of two requests to the site of this process, which has had none."""
    from django.test import Client

    client = Client(SERVER_NAME="localhost")
    page, document = f"/maps/{release}/", f"/api/v1/releases/{release}"
    client.get("/")
    first_page = own_calls(lambda: client.get(page))
    for _ in range(2):
        client.get(document)
    return {
        "own calls of the page of a map, cold": first_page,
        "own calls of the JSON of a release, warm": own_calls(lambda: client.get(document)),
    }


def own_calls(request: Callable[[], Any]) -> dict[str, int]:
    """Return how many functions of dpgeo/ a request calls, and in how many files they are."""
    folder = f"{ROOT / 'dpgeo'}{os.sep}"
    calls: dict[str, int] = {}

    def count(frame: Any, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(folder):
            calls[name] = calls.get(name, 0) + 1

    sys.setprofile(count)
    try:
        answer = request()
    finally:
        sys.setprofile(None)
    if answer.status_code != 200:
        raise ValueError(f"A request was answered with {answer.status_code}.")
    return {"value": sum(calls.values()), "files": len(calls)}


def quick_tests() -> int:
    """Return the number of tests that `make test` runs."""
    listed = subprocess.run(
        ["make", "-s", "test-list"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.search(r"^(\d+)(?:/\d+)? tests? collected", listed.stdout, re.MULTILINE)
    if found is None:
        raise ValueError((listed.stdout + listed.stderr)[-2000:])
    return int(found[1])
