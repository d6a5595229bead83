from __future__ import annotations

import re

import pytest

from dpgeo.mechanisms.describe import PAGES, renew_table
from dpgeo.mechanisms.registry import MECHANISMS


@pytest.mark.parametrize("key", list(MECHANISMS))
def test_every_mechanism_has_a_page_with_its_parameters_as_they_are(key: str) -> None:
    page = (PAGES / f"{key}.md").read_text()

    assert renew_table(page, MECHANISMS[key]) == page, "Run python -m dpgeo.mechanisms.describe."


@pytest.mark.parametrize("heading", ["Idea.", "Privacy argument.", "Utility.", "References."])
@pytest.mark.parametrize("key", list(MECHANISMS))
def test_every_mechanism_argues_its_privacy_beside_its_code(key: str, heading: str) -> None:
    module = __import__(MECHANISMS[key].plan.__module__, fromlist=["plan"])

    assert f"\n\n{heading} " in (module.__doc__ or "")


@pytest.mark.parametrize("key", [key for key, each in MECHANISMS.items() if each.gaussian])
def test_every_mechanism_that_serves_zcdp_argues_its_squared_sensitivity(key: str) -> None:
    module = __import__(MECHANISMS[key].plan.__module__, fromlist=["plan"])

    assert re.search(r"\n\nUnder zCDP\. .*?squared", module.__doc__ or "", re.S)
    assert "zCDP" in (PAGES / f"{key}.md").read_text()
