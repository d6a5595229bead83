"""Pages say what was measured in plain words, in every language."""

from __future__ import annotations

from django.utils import translation

from dpgeo.pages.templatetags.plain_words import NUMBERED, PLAIN, plain_words

JARGON = ("partition", "cell", "phase", "pilot", "slice", "context", "cluster")

MEASURED = (
    "phase 1: even grid of 64 x 64 squares",
    "phase 2: areas split above 2.5 times the noise",
    "phase 1: coarse squares in each slice, by its total",
    "phase 1: equal squares in each slice, by its total",
    "phase 2: areas of each slice split above 3 times the noise",
    "round 2: sums of clusters",
    "counts of level 5",
)
"""Labels with numbers, as mechanisms make them: one that matches each pattern in NUMBERED."""


def test_measured_labels_keep_their_numbers() -> None:
    assert len(MEASURED) == len(NUMBERED)
    assert plain_words("phase 1: even grid of 64 x 64 squares") == "step 1: equal squares, 64 by 64"
    for label in MEASURED:
        english = plain_words(label)
        assert not any(word in english for word in JARGON)
        with translation.override("de"):
            assert plain_words(label) not in (label, english)


def test_every_term_has_german_words() -> None:
    with translation.override("de"):
        for term, english in PLAIN.items():
            assert plain_words(term) != english, term
