"""Build of the wheel, which puts files from outside the package into `dpgeo/whole`.

Settings find them there (`dpgeo.config.places`). The rest of the build is configured in
pyproject.toml.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent

BESIDE = ("manage.py", "locale", "fixtures", "frontend/dist")
"""What a site needs besides the package: translations, the demo city and the built frontend."""


class BuildWhole(build_py):
    """The usual build, plus the files listed in BESIDE."""

    def run(self) -> None:
        """Build the package and copy the files of BESIDE into it.

        Raises SystemExit if the frontend has not been built.
        """
        super().run()
        if not (ROOT / "frontend" / "dist" / "manifest.json").exists():
            raise SystemExit("The map has not been built; `make wheel` builds it first.")
        whole = Path(self.build_lib) / "dpgeo" / "whole"
        for name in BESIDE:
            source, target = ROOT / name, whole / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                unwanted = shutil.ignore_patterns("__pycache__", "*.po")
                shutil.copytree(source, target, ignore=unwanted, dirs_exist_ok=True)
            else:
                shutil.copy2(source, target)


# Build in a fresh folder: a reused build/ would still hold deleted files and add them to the wheel.
with tempfile.TemporaryDirectory(prefix="dpgeo-build-") as folder:
    setup(cmdclass={"build_py": BuildWhole}, options={"build": {"build_base": folder}})
