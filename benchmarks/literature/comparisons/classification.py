"""Decision trees that predict one of two classes from four attributes of invented people.

The trees learn from 30,162 people and are tested with 15,060 others. There are 7 x 7 x 5 x 2
combinations of attributes, as in the DPCube paper's Adult data; how often each value and class
occurs is invented. `accuracy` is the share of the tested people whose class is predicted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.literature.classification import accuracy, id3, private_id3
from benchmarks.literature.comparisons.own import measured
from benchmarks.literature.partitions import dpcube
from benchmarks.literature.trials import Line, Options, line

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEARNED, TESTED = 30_162, 15_060
ATTRIBUTES = ((7, 0.5), (7, 1.3), (5, 0.4), (2, 0.5))
"""Each attribute's number of values, and standard deviation of their effects on the class's logit.
"""

SELDOM = -1.6
"""Logit (log-odds) of the rarer class for a person whose attributes have no effect on it."""


def compare(options: Options) -> Iterator[Line]:
    """Yield a line of output for each method: its mean errors over the trials (`trials.line`)."""
    whole, tested = invented()
    histogram, epsilon = whole.astype(np.float64), options.budget

    def errors(classifier: Ints) -> Mapping[str, float]:
        return {"accuracy": accuracy(classifier, tested)}

    def cube(answers: str, random: Generator) -> Mapping[str, float]:
        found = dpcube(histogram, epsilon, random)
        estimate = found.uniform() if answers == "uniform" else found.least_squares()
        return errors(id3(estimate))

    nothing = np.zeros(histogram.shape[:-1], dtype=np.int64)
    yield line("always the larger class", "none", lambda r: errors(nothing), options)
    yield line("ID3", "Quinlan 1986", lambda r: errors(id3(histogram)), options, "none")
    yield line(
        "ID3 by private queries",
        "Friedman and Schuster 2010",
        lambda r: errors(private_id3(histogram, epsilon, r)),
        options,
    )
    for answers in ("uniform", "least squares"):
        yield line(
            f"ID3 on DPCube, {answers}",
            "Xiao et al. 2014",
            partial(cube, answers),
            options,
        )
    yield line(
        "ID3 on dpgeo's counts of all cells",
        "dpgeo",
        lambda r: errors(id3(measured(whole, options.epsilon, r))),
        options,
    )


def invented() -> tuple[Ints, Floats]:
    """Return two histograms by attributes and class: of people to learn from, and to test with."""
    random = np.random.default_rng(11)
    sizes = [size for size, _ in ATTRIBUTES]
    share, logit = np.ones(1), np.full(1, SELDOM)
    for size, weight in ATTRIBUTES:
        seldom = 0.55 ** np.arange(size)
        share = np.multiply.outer(share, seldom / seldom.sum())
        logit = np.add.outer(logit, random.normal(0, weight, size))
    chance = 1 / (1 + np.exp(-logit))
    cells = np.stack([share * (1 - chance), share * chance], axis=-1).reshape(*sizes, 2)
    learned, tested = (
        random.multinomial(people, cells.ravel()).reshape(cells.shape)
        for people in (LEARNED, TESTED)
    )
    return learned.astype(np.int64), tested.astype(np.float64)
