"""API response types in the scripts and the Python client, checked against the schema."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

from django.conf import settings
from dpgeo_client import types

from dpgeo.api.documentation import schema

CLIENT = runpy.run_path(str(Path(settings.BASE_DIR) / "clients/python/generate_types.py"))
GENERATOR = runpy.run_path(str(Path(settings.BASE_DIR) / "frontend/scripts/api_types.py"))


def test_the_scripts_types_follow_the_schema() -> None:
    assert GENERATOR["generate"](schema()) == GENERATOR["TARGET"].read_text(), (
        "Run: manage.py spectacular --format openapi-json | python frontend/scripts/api_types.py"
    )


def test_the_clients_types_follow_the_schema() -> None:
    written = Path(types.__file__).read_text()
    assert ast.dump(ast.parse(written)) == ast.dump(ast.parse(CLIENT["generate"](schema()))), (
        "Run, in clients/python: manage.py spectacular --format openapi-json | "
        "python generate_types.py > dpgeo_client/types.py"
    )


def test_the_client_imports_nothing_of_the_server() -> None:
    for path in Path(types.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert not (node.module or "").startswith("dpgeo."), path
