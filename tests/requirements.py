"""What a test needs beyond the project, such as a browser or a file of real data.

`make test` skips tests that lack something. `make test-all` sets DPGEO_REQUIRE_ALL=1, which makes
the same lack a failure, so that nothing is left out unnoticed; QGIS is required by `make audit`
alone.
"""

from __future__ import annotations

import os

import pytest


def need(condition: object, what: str) -> None:
    """Continue if `condition` holds; otherwise skip, or fail when everything is required.

    `what` names the missing thing and how to get it: "Chromium: apt-get install chromium". It can
    be called in a test, in a fixture and at the top of a module.
    """
    if condition:
        return
    message = f"This needs {what}."
    if os.environ.get("DPGEO_REQUIRE_ALL") == "1":
        pytest.fail(message, pytrace=False)
    pytest.skip(message, allow_module_level=True)
