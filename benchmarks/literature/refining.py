"""iReduct: less noise for the groups of queries whose relative error is worst.

Xiao, Bender, Hay and Gehrke 2011. All groups start with much noise. The noise of one group at a
time is lowered until epsilon is used up. It is always the group whose estimated relative error
falls most for the epsilon spent.

The noise of one group is lowered by the coupling of Koufogiannis, Han and Pappas (2017), instead of
the authors' NoiseDown, whose density takes several pages: noise of scale b is noise of scale b' < b
plus, with probability 1 - (b'/b)^2, Laplace noise of scale b. (The characteristic functions agree:
(1 + b'^2 t^2)/(1 + b^2 t^2) = (b'/b)^2 + (1 - (b'/b)^2)/(1 + b^2 t^2).) So the noisier answers of a
group are post-processing of the group's least noisy answer.

Privacy. A transcript has, for every group, answers of falling scales. Which group comes next is a
function of the answers before, so the density of a transcript is the product over the groups of the
density of its finest answer, times steps that do not depend on the data. A person adds 1 to one
query of each group, so the ratio for neighbours is at most exp(sum of 1/b over the groups' finest
scales), and the algorithm stops before that sum exceeds epsilon.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]

STEP = 0.9
"""Factor by which one step of the refinement lowers the noise scale of a group of queries."""


def refined(
    groups: Sequence[Floats], epsilon: float, random: Generator, *, sanity: float
) -> tuple[list[Floats], Floats]:
    """Return the groups' noisy answers and the scales (g,) of their noise.

    Each group's counts are disjoint, and a person may be in every group. Errors are relative: they
    are divided by the count, or by the public number `sanity` if the count is smaller.
    """
    start = 10 * len(groups) / epsilon
    scales = np.full(len(groups), start)
    chains = [_chain(group, start, 1 / epsilon, random) for group in groups]
    steps = np.zeros(len(groups), dtype=np.intp)
    while True:
        answers = [chain[step] for chain, step in zip(chains, steps, strict=True)]
        gain = np.array([_relative(each, sanity) for each in answers]) * scales * (1 - STEP)
        price = (1 / STEP - 1) / scales
        affordable = price <= epsilon - (1 / scales).sum()
        if not affordable.any():
            return answers, scales
        chosen = int(np.argmax(np.where(affordable, gain / price, -np.inf)))
        steps[chosen] += 1
        scales[chosen] *= STEP


def _relative(noisy: Floats, sanity: float) -> float:
    """Return the sum of 1/count, which times the noise scale is a group's relative error.

    The counts are the noisy answers; those below `sanity` are replaced by `sanity`.
    """
    return float((1 / np.maximum(noisy, sanity)).sum())


def _chain(counts: Floats, start: float, least: float, random: Generator) -> list[Floats]:
    """Return answers with noise of the scales start, start * STEP, ..., down to `least`.

    The finest answer is drawn first, and each coarser one is derived from it.
    """
    scales = start * STEP ** np.arange(int(np.log(least / start) / np.log(STEP)) + 1)
    answers = [counts + random.laplace(0, scales[-1], counts.shape)]
    for fine, coarse in zip(scales[:0:-1], scales[-2::-1], strict=True):
        more = random.random(counts.shape) > (fine / coarse) ** 2
        answers.append(answers[-1] + more * random.laplace(0, coarse, counts.shape))
    return answers[::-1]
