"""HTML views of releases for notebooks: a card, a table, and a frame with the site's map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from dpgeo_client import types

SMALL = "font-size:.9em;opacity:.75"


@dataclass(frozen=True, slots=True)
class Frame:
    """An HTML frame with a map. Notebooks display it; `save` writes a file for any browser."""

    title: str
    html: str

    def _repr_html_(self) -> str:
        return self.html

    def save(self, path: Path | str) -> Path:
        """Write an HTML file that shows the map, and return its path."""
        target = Path(path)
        head = f'<!doctype html><meta charset="utf-8"><title>{escape(self.title)}</title>'
        target.write_text(f"{head}\n{self.html}\n", encoding="utf-8")
        return target


def frame(server: str, facts: types.Release, height: int) -> Frame:
    """Return a frame, `height` pixels high, with the map of a published release.

    There is a link below the frame, because notebooks on https cannot show a frame from a site on
    http.
    """
    source = f"{server}/embed/{facts['id']}/"
    return Frame(
        facts["title"],
        f'<iframe src="{escape(source)}" title="{escape(facts["title"])}" width="100%" '
        f'height="{int(height)}" style="border:0" loading="lazy" allowfullscreen></iframe>\n'
        f'<p style="{SMALL}">{_link(facts)}. {escape(_whose(facts))}</p>',
    )


def card(facts: types.Release) -> str:
    """Return HTML with a release's title, publisher, privacy promise and main facts."""
    rows = [
        ("What was spent", facts["cost"]),
        ("Counted", f"{facts['counting']}, each in at most {facts['bound']} places"),
        ("Layers", ", ".join(dict.fromkeys(f["layer"] for f in facts["files"] if f["layer"]))),
    ]
    listed = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(text)}</td></tr>'
        for name, text in rows
        if text
    )
    return (
        f"<div><strong>{_link(facts)}</strong><br>{escape(_whose(facts))}"
        f"<p>{escape(facts['promise']['sentence'])}</p><table>{listed}</table></div>"
    )


def table(releases: Sequence[types.Release]) -> str:
    """Return an HTML table of releases."""
    rows = "".join(
        f"<tr><td>{_link(facts)}</td>"
        + "".join(
            f'<td style="text-align:left">{escape(text)}</td>'
            for text in (
                facts["publisher"]["name"],
                facts["published_on"] or facts["state"],
                facts["kind"],
                facts["cost"],
            )
        )
        + f"<td><code>{escape(facts['id'])}</code></td></tr>"
        for facts in releases
    )
    names = ("Map", "Publisher", "Published", "Kind", "Spent", "Id")
    head = "".join(f'<th style="text-align:left">{name}</th>' for name in names)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _link(facts: types.Release) -> str:
    page = str(facts["links"]["page"])
    if not page.startswith(("https://", "http://")):
        return escape(facts["title"])
    return f'<a href="{escape(page)}" target="_blank" rel="noopener">{escape(facts["title"])}</a>'


def _whose(facts: types.Release) -> str:
    parts = [facts["publisher"]["name"], facts["published_on"], facts["licence"]]
    return ", ".join(text for text in (*parts, facts["attribution"]) if text) + "."
