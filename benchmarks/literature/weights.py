"""Multiplicative weights: MWEM for a batch of queries, PMW for queries one by one.

Both maintain an estimate of the counts, which has the data's total and is even at first. They find
queries on which the estimate is wrong. For such a query q with entries 0 and 1, they multiply the
estimated counts by exp(q (measured - estimated)/(2 total)). Queries are counts, so adding a person
changes each by at most 1.

The authors' neighbouring datasets differ in the values of one record, so the total is public there.
Here they differ by one person, added or removed, and a twentieth of epsilon is spent on the total.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.literature.thresholds import above_threshold

Floats = NDArray[np.float64]

TOTAL_SHARE = 0.05
"""Share of epsilon that is spent on the sum of all counts."""

PASSES = 20
"""Number of passes after each round that fit the estimate to all measurements made so far.

They are post-processing.
"""


def mwem(
    counts: Floats, queries: Floats, epsilon: float, random: Generator, *, rounds: int
) -> Floats:
    """Return MWEM's estimate (n,) after the last round (Hardt, Ligett and McSherry 2012).

    Each round chooses the query (m, n) with the worst error by the exponential mechanism (score of
    sensitivity 1), and measures it by the Laplace mechanism, with half of the round's epsilon each.
    The authors' error bound is for the mean of the estimates over all rounds, which has a larger
    error here.
    """
    total, left = _bought(counts, epsilon, random)
    half = left / rounds / 2
    estimate = np.full(len(counts), total / len(counts))
    truth = queries @ counts
    queries_asked: list[tuple[int, float]] = []
    for _ in range(rounds):
        score = np.abs(truth - queries @ estimate) * half / 2
        worst = int(np.argmax(score + random.gumbel(size=len(score))))
        queries_asked.append((worst, truth[worst] + random.laplace(0, 1 / half)))
        for _ in range(PASSES):
            for query, answer in queries_asked:
                estimate = _updated(estimate, queries[query], answer, total)
    return estimate


def pmw(
    counts: Floats,
    queries: Floats,
    epsilon: float,
    random: Generator,
    *,
    updates: int,
    threshold: float,
) -> Floats:
    """Return PMW's answers (m,) to queries that come one by one (Hardt and Rothblum 2010).

    The estimate answers a query unless its error is above the threshold. The sparse vector
    technique finds such queries, which are then measured and used for an update. The epsilon of
    each update is halved between a run of the technique, which ends with its first answer "above",
    and the measurement.
    """
    total, left = _bought(counts, epsilon, random)
    half = left / updates / 2
    estimate = np.full(len(counts), total / len(counts))
    truth, answers = queries @ counts, np.empty(len(queries))
    first = 0
    for _ in range(updates):
        guesses = queries[first:] @ estimate
        above = above_threshold(np.abs(truth[first:] - guesses), threshold, 1, half, random)
        answers[first:] = guesses
        if not above.any():
            return answers
        first += int(np.argmax(above))
        answers[first] = truth[first] + random.laplace(0, 1 / half)
        estimate = _updated(estimate, queries[first], answers[first], total)
        first += 1
    answers[first:] = queries[first:] @ estimate
    return answers


def _bought(counts: Floats, epsilon: float, random: Generator) -> tuple[float, float]:
    paid = TOTAL_SHARE * epsilon
    return max(float(counts.sum() + random.laplace(0, 1 / paid)), 1.0), epsilon - paid


def _updated(estimate: Floats, query: Floats, answer: float, total: float) -> Floats:
    weights = estimate * np.exp(query * (answer - query @ estimate) / (2 * total))
    return np.asarray(weights * (total / weights.sum()))
