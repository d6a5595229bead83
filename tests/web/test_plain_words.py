"""Pages say what was measured in plain words, in every language."""

from __future__ import annotations

from fractions import Fraction

import pytest
from django.utils import translation

from dpgeo.mechanisms.registry import MECHANISMS
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


@pytest.mark.parametrize("key", [key for key in MECHANISMS if key != "prilocation"])
def test_a_plan_is_told_without_jargon_and_in_german(key: str) -> None:
    mechanism = MECHANISMS[key]
    for spend in mechanism.plan(mechanism.params(), Fraction(1)):
        english = plain_words(spend.label)
        assert not any(word in english for word in JARGON)
        with translation.override("de"):
            assert plain_words(spend.label) != english


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


def test_a_term_without_plainer_words_stays_as_it_is() -> None:
    assert plain_words("zone counts") == "zone counts"


def test_a_layer_of_a_slice_is_named_part_by_part() -> None:
    assert plain_words("Counts of partitions, Monday") == "Counts of boxes, Monday"
    with translation.override("de"):
        assert plain_words("Counts of partitions, Monday") == "Zahlen der K\u00e4sten, Montag"
