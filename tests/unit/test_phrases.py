"""Phrases: sentence templates with values, which can be translated and stored."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dpgeo.phrases import Figure, Phrase

SENTENCE = Phrase(
    "{name!r} has {count:,} rows, {share:.1f} % of {whole}; {remedy}",
    name="it has {x}; it has y",
    count=1200,
    share=2.5,
    whole=Figure("1,386.29"),
    remedy=Phrase("ask for {most:,}.", most=1000),
)


def german(text: str) -> str:
    known = {"ask for {most:,}.": "höchstens {most:,}."}
    return known.get(text, text)


def separated(figure: str) -> str:
    return figure.translate(str.maketrans(",.", ".,"))


def test_a_phrase_is_english_unless_it_is_rendered_in_a_language() -> None:
    assert str(SENTENCE) == (
        "'it has {x}; it has y' has 1,200 rows, 2.5 % of 1,386.29; ask for 1,000."
    )
    assert SENTENCE.render(german, separated) == (
        "'it has {x}; it has y' has 1.200 rows, 2,5 % of 1.386,29; höchstens 1.000."
    )


def test_a_phrase_survives_storage() -> None:
    stored = json.dumps(SENTENCE.to_json())
    assert Phrase.from_json(json.loads(stored)) == SENTENCE
    assert Phrase.from_json(json.loads(stored)).render(german, separated) == SENTENCE.render(
        german, separated
    )
    assert str(Phrase.from_json("An {old} text")) == "An {old} text"
    assert not Phrase.from_json("")


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"template": "{x.__class__}", "values": {"x": "a"}},
        {"template": "{x[0]}", "values": {"x": "a"}},
        {"template": "{x:999999999}", "values": {"x": "a"}},
        {"template": "{x:{y}}", "values": {"x": "a", "y": "9"}},
        {"template": "{y}", "values": {"x": "a"}},
        {"template": "{x}", "values": {"x": ["a"]}},
        {"template": "{x:,.0f}", "values": {"x": 10**400}},
        {"template": 5, "values": {}},
        {"template": "a", "values": "b"},
        5,
    ],
)
def test_what_is_no_phrase_is_refused(document: object) -> None:
    with pytest.raises(ValueError, match=r"no phrase|no format"):
        Phrase.from_json(document)  # type: ignore[arg-type]


def nested(depth: int, template: str) -> Any:
    """Return a phrase with further phrases nested in it to the given depth."""
    value: Any = "x"
    for _ in range(depth):
        value = {"template": template, "values": {"x": value}}
    return value


def test_a_phrase_that_would_fill_the_memory_is_refused_unrendered() -> None:
    assert str(Phrase.from_json(nested(8, "<{x}>"))) == "<<<<<<<<x>>>>>>>>"
    for bomb in (nested(9, "{x}"), nested(5, "{x}" * 100), nested(1, "{x}" * 70_000)):
        with pytest.raises(ValueError, match="no phrase"):
            Phrase.from_json(bomb)
    with pytest.raises(ValueError, match="no phrase"):
        Phrase.from_json(nested(5_000, "{x}"))
    assert len(str(Phrase.from_json("x" * 100_000))) == 65_536
