"""What a household loses under correlated sensitivity, which is computed exactly.

Its people are all in one count, or all absent. `scale` is the scale of the noise, `loss` the
largest log-ratio of the answer's densities in these two cases (epsilon was promised), and `right`
how many of 100 guesses between the two cases can be right. No noise is drawn, so trials and seed
change nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.literature.correlated import (
    DEGREES,
    HOUSEHOLDS,
    THRESHOLD,
    group_loss,
    household_loss,
    right_guesses,
)
from benchmarks.literature.trials import Line, Options


def compare(options: Options) -> Iterator[Line]:
    """Yield a line for each household and degree of correlation, and one for dpgeo."""
    for people in HOUSEHOLDS:
        for degree in DEGREES:
            lost = household_loss(people, degree, options.budget, THRESHOLD)
            yield _line(f"degree {degree:g}", "Zhu et al. 2017", people, lost)
        lost = group_loss(people, people, options.budget)
        yield _line("any degree", "dpgeo", people, lost)


def _line(degree: str, source: str, people: int, lost: float) -> Line:
    system = f"household of {people}, {degree}"
    figures = {"scale": people / lost, "loss": lost, "right": right_guesses(lost)}
    return {"system": system, "source": source, "promise": "eps", **figures}
