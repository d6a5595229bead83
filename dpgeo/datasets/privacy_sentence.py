"""The promise to the people in a dataset: its whole budgets, spent or not."""

from __future__ import annotations

from collections.abc import Callable

from dpgeo.artefacts.wording import points_sentence, privacy_sentence
from dpgeo.budgets.selectors import points_ledger
from dpgeo.core.guarantees import Unit
from dpgeo.datasets.models import Dataset


def promise_of(
    dataset: Dataset,
    unit: Unit,
    say: Callable[[str], str] = str,
    figure: Callable[[str], str] = str,
) -> str:
    """In one or two sentences for everybody: about presence, or whereabouts where points may be
    published too. `unit` is whose; `say` puts sentences into a reader's language, and `figure` the
    separators of English figures.
    """
    total = dataset.ledger.total
    points = points_ledger(dataset.ledger)
    if points is None or points.radius is None:
        return privacy_sentence(total, unit, say, figure)
    return points_sentence(total, unit, points.total, points.radius, say, figure)
