"""Writes the tables of parameters in the mechanisms' documentation pages.

Each table is between two comments in docs/mechanisms/KEY.md; the rest of the page is handwritten.
"""

from __future__ import annotations

from pathlib import Path

from dpgeo.core.parameters import Parameter, parameters
from dpgeo.mechanisms.registry import MECHANISMS
from dpgeo.privacy.mechanism import Mechanism

PAGES = Path(__file__).resolve().parents[2] / "docs" / "mechanisms"

BEGIN = "<!-- parameters: made by python -m dpgeo.mechanisms.describe -->\n"
END = "<!-- end of parameters -->\n"


def parameter_table(mechanism: Mechanism) -> str:
    """Return a Markdown table of a mechanism's parameters."""
    rows = [
        f"| `{parameter.name}` | {_values(parameter)} | {_default(parameter)} "
        f"| {parameter.description} |\n"
        for parameter in parameters(mechanism.params)
    ]
    return "| parameter | values | default | meaning |\n|---|---|---|---|\n" + "".join(rows)


def renew_table(page: str, mechanism: Mechanism) -> str:
    """Return the text of a page with its parameter table updated.

    Raises ValueError if the page lacks the two comments that enclose the table.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(
            f"docs/mechanisms/{mechanism.key}.md lacks the comments that its table of parameters "
            f"goes between. Put these two lines into it:\n{BEGIN}{END}"
        )
    return before + BEGIN + parameter_table(mechanism) + END + after


def describe(pages: Path) -> None:
    """Update the parameter tables in a folder of pages. Raises ValueError if a page is missing."""
    for key, mechanism in MECHANISMS.items():
        page = pages / f"{key}.md"
        if not page.exists():
            raise ValueError(
                f"docs/mechanisms/{key}.md is missing: copy uniform-grid.md, and keep the two "
                "comments around its table."
            )
        page.write_text(renew_table(page.read_text(), mechanism))


def _default(parameter: Parameter) -> str:
    return "empty" if parameter.default == "" else f"`{parameter.default}`"


def _values(parameter: Parameter) -> str:
    if parameter.kind is bool:
        return "true, false"
    if parameter.layer:
        return f"a declared layer of {parameter.layer}"
    if parameter.measure:
        return "a declared column of numbers"
    if parameter.category:
        return "a declared category"
    if parameter.choices:
        return ", ".join(f"`{choice}`" for choice in parameter.choices)
    if parameter.read:
        return "text"
    return f"whole numbers from {parameter.low} to {parameter.high}"


if __name__ == "__main__":
    describe(PAGES)
