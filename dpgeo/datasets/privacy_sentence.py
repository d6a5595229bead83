"""The promise to the people in a dataset: its whole budgets, spent or not."""

from __future__ import annotations

from dpgeo.artefacts.wording import points_sentence, privacy_sentence
from dpgeo.budgets.selectors import points_ledger
from dpgeo.core.guarantees import Unit
from dpgeo.datasets.models import Dataset
from dpgeo.phrases import Phrase


def promise_of(dataset: Dataset, unit: Unit) -> Phrase:
    """In one or two sentences for everybody: about presence, or whereabouts where points may be
    published too. `unit` is whose.
    """
    total = dataset.ledger.total
    points = points_ledger(dataset.ledger)
    if points is None or points.radius is None:
        return privacy_sentence(total, unit)
    return points_sentence(total, unit, points.total, points.radius)
