from __future__ import annotations

import re
from pathlib import Path

import pytest

from dpgeo.mechanisms import dpcube
from dpgeo.mechanisms.describe import BEGIN, END, PAGES, describe, renew_table
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


def test_stale_tables_are_renewed_and_other_text_stays(tmp_path: Path) -> None:
    for key in MECHANISMS:
        (tmp_path / f"{key}.md").write_text(f"Before.\n{BEGIN}stale\n{END}After.\n")

    describe(tmp_path)

    page = (tmp_path / "dpcube.md").read_text()
    assert page.startswith("Before.\n")
    assert page.endswith("After.\n")
    assert "| `cells` | whole numbers from 1 to 4096 | `256` | Cells along each side. |" in page
    assert "stale" not in page


def test_a_page_without_a_place_for_its_table_is_told_the_lines_to_add() -> None:
    with pytest.raises(ValueError, match="lacks the comments") as error:
        renew_table("No table.", dpcube.MECHANISM)

    assert BEGIN + END in str(error.value)
