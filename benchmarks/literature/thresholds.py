"""Sparse vector technique: which of many counts reach a threshold.

Standard version (Lyu, Su and Li 2017, algorithm 7). The threshold gets noise of scale s/e1 once.
Every query gets noise of scale 2 c s/e2 and is compared with the noisy threshold; after c answers
"above", the algorithm stops. s is the sensitivity of one query.

Privacy. Let D' be a neighbour of D, and z the threshold's noise. For the answers "below", shift z
to z + s: a query that is below the noisy threshold with z on D is below it with z + s on D',
whatever the query's noise. This changes the probability of all these answers together by a factor
of at most e^e1. For an answer "above", shift the query's noise by 2 s: s for the threshold and s
for the query. Each such answer changes the probability by a factor of at most e^(e2/c), and there
are at most c of them. So the answers are (e1 + e2)-differentially private; e1 : e2 = 1 : (2c)^(2/3)
minimises the variance of the comparison. If a person moves all queries in one direction (as counts,
when somebody is added), noise of scale c s/e2 is enough, and the best ratio is 1 : c^(2/3).

Not private: the versions without noise on the queries (Stoddard, Chen and Machanavajjhala 2014,
written below as `noiseless_queries`), with noise that does not grow with c (Lee and Clifton 2014),
and those that print the noisy answer that was compared (Roth 2011). Without noise on the queries,
if two counts are in a different order in a neighbouring dataset, some answers of one dataset are
impossible in the other.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


def above_threshold(
    answers: Floats,
    threshold: float,
    most: int,
    epsilon: float,
    random: Generator,
    *,
    one_way: bool = False,
) -> Mask:
    """Return which of the answers (n,), of sensitivity 1 each, are reported as above.

    At most `most` answers are reported as above. Answers after the last of these are not examined,
    and are reported as below. `one_way` says that adding a person either lowers no query or raises
    no query.
    """
    factor = 1 if one_way else 2
    share = 1 / (1 + (factor * most) ** (2 / 3))
    noisy = threshold + random.laplace(0, 1 / (share * epsilon))
    scale = factor * most / ((1 - share) * epsilon)
    above = answers + random.laplace(0, scale, len(answers)) >= noisy
    return np.asarray(above & (np.cumsum(above) <= most))


def noiseless_queries(answers: Floats, threshold: float, epsilon: float, random: Generator) -> Mask:
    """Return the answers by the method of Stoddard, Chen and Machanavajjhala (2014).

    The method is not private.
    """
    return np.asarray(answers >= threshold + random.laplace(0, 1 / epsilon))


def noisy_counts(answers: Floats, threshold: float, epsilon: float, random: Generator) -> Mask:
    """Return which counts of disjoint cells reach the threshold after noise is added to each.

    The counts have sensitivity 1 together, so the noise costs epsilon for all of them.
    """
    return np.asarray(answers + random.laplace(0, 1 / epsilon, len(answers)) >= threshold)
