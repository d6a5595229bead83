"""The project's version, which must be the same in every place."""

from __future__ import annotations

import tomllib
from pathlib import Path

import dpgeo

ROOT = Path(__file__).resolve().parents[2]


def version_of(project: Path) -> str:
    """Return the version in a pyproject.toml."""
    return str(tomllib.loads(project.read_text())["project"]["version"])


def test_package_citation_and_client_have_one_version() -> None:
    version = version_of(ROOT / "pyproject.toml")
    assert dpgeo.__version__ == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert version_of(ROOT / "clients" / "python" / "pyproject.toml") == version
