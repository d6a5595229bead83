"""Locations of a site's own files, in a source checkout and in an installed package."""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent

WHOLE = PACKAGE / "whole"
"""Folder of an installed package for the files that a checkout has next to the package, such as
fixtures; `setup.py` puts them here. A checkout has no such folder.
"""

INSTALLED = WHOLE.is_dir()

BASE_DIR = WHOLE if INSTALLED else PACKAGE.parent


def usual_var() -> Path:
    """Return the folder to which a site writes unless DPGEO_VAR names a different one.

    An installed package may be replaced at any time, so its site writes to the user account's own
    data folder (XDG Base Directory Specification).
    """
    if not INSTALLED:
        return BASE_DIR / "var"
    named = os.environ.get("XDG_DATA_HOME", "")
    data = Path(named) if named.startswith("/") else Path.home() / ".local" / "share"
    return data / "dpgeo"
