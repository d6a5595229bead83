"""What tests need beyond the project, such as a browser or a file of real data.

`make test` skips tests that lack something. `make test-all` sets DPGEO_REQUIRE_ALL=1, which makes
them fail instead, so that no test is left out unnoticed. QGIS is required only by `make audit`.
"""

from __future__ import annotations

import os

import pytest


def need(condition: object, what: str) -> None:
    """Continue if `condition` holds; otherwise skip the test, or fail it if DPGEO_REQUIRE_ALL=1.

    `what` names the missing thing and how to get it: "Chromium: apt-get install chromium". The
    function can be called in a test, in a fixture or at the top of a module.
    """
    if condition:
        return
    message = f"This needs {what}."
    if os.environ.get("DPGEO_REQUIRE_ALL") == "1":
        pytest.fail(message, pytrace=False)
    pytest.skip(message, allow_module_level=True)
