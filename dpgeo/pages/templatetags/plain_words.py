"""Plain words that replace technical terms on pages.

Mechanisms, statements, files and the API keep the terms of the literature, which the glossary
explains. Pages describe what was measured in everyday words.
"""

from __future__ import annotations

import re

from django import template
from django.utils.translation import gettext

from dpgeo.phrases import translatable

register = template.Library()

PLAIN = {
    "cell": translatable("square"),
    "cells": translatable("squares"),
    "partition": translatable("box"),
    "partitions": translatable("boxes"),
    "cell counts": translatable("counts of squares"),
    "cell counts of all slices": translatable("counts of squares, for each time or value"),
    "partition counts": translatable("counts of boxes"),
    "counts of partitions": translatable("counts of boxes"),
    "counts of places": translatable("counts of places"),
    "counts of places by context": translatable("counts of places, for each time or value"),
    "pairs of regions": translatable("counts of each way from one region to another"),
    "departures": translatable("departures from each region"),
    "arrivals": translatable("arrivals in each region"),
    "pilot: number of people": translatable("a first look: about how many there are"),
    "pilot: number of people in each slice": translatable(
        "a first look: about how many there are at each time or with each value"
    ),
    "counts of areas, allocated after the pilot": translatable(
        "counts of squares, shared out after the first look"
    ),
    "Clusters": translatable("Gathering places"),
    "Areas of clusters": translatable("Areas around gathering places"),
    "Counts of cells": translatable("Counts of squares"),
    "Estimates of cells": translatable("Estimates for squares"),
    "Counts of partitions": translatable("Counts of boxes"),
    "Estimates of partitions": translatable("Estimates for boxes"),
}
"""Technical terms, and the words that replace them on pages."""

NUMBERED = (
    (
        r"phase (?P<number>\d+): even grid of (?P<across>\d+) x (?P<down>\d+) squares",
        translatable("step {number}: equal squares, {across} by {down}"),
    ),
    (
        r"phase (?P<number>\d+): areas split above (?P<limit>[\d.e+]+) times the noise",
        translatable("step {number}: squares, divided where the count is well above the noise"),
    ),
    (
        r"phase (?P<number>\d+): areas of each slice split above (?P<limit>[\d.e+]+) times the "
        r"noise",
        translatable(
            "step {number}: squares for each time or value, divided where the count is well above "
            "the noise"
        ),
    ),
    (
        r"phase (?P<number>\d+): equal squares in each slice, by its total",
        translatable("step {number}: equal squares for each time or value"),
    ),
    (
        r"phase (?P<number>\d+): coarse squares in each slice, by its total",
        translatable("step {number}: large squares for each time or value"),
    ),
    (
        r"round (?P<number>\d+): sums of clusters",
        translatable("round {number}: where the gathering places lie"),
    ),
    (
        r"counts of level (?P<number>\d+)",
        translatable("counts of squares of size {number}"),
    ),
)
"""Patterns of technical terms that contain numbers, and the words that replace them on pages."""


@register.filter
def plain_words(term: str) -> str:
    """Return plain words for a technical term, in the page's language.

    The parts of a term such as "Counts of cells, Monday" are replaced one by one. A part without
    plainer words is only translated.
    """
    for pattern, words in NUMBERED:
        if match := re.fullmatch(pattern, term):
            return gettext(words).format(**match.groupdict())
    if term in PLAIN:
        return gettext(PLAIN[term])
    return ", ".join(gettext(PLAIN.get(part, part)) for part in term.split(", "))
