"""The privacy statement to the people in a dataset, about its total budgets."""

from __future__ import annotations

from dpgeo.artefacts.wording import points_sentence, privacy_sentence
from dpgeo.budgets.selectors import points_ledger
from dpgeo.core.guarantees import Unit
from dpgeo.datasets.models import Dataset
from dpgeo.phrases import Phrase


def promise_of(dataset: Dataset, unit: Unit) -> Phrase:
    """State in one or two plain sentences what a dataset's total budgets protect.

    The sentences are about presence in the dataset and, if points may be published too, about
    whereabouts. `unit` is the privacy unit.
    """
    total = dataset.ledger.total
    points = points_ledger(dataset.ledger)
    if points is None or points.radius is None:
        return privacy_sentence(total, unit)
    return points_sentence(total, unit, points.total, points.radius, points.snapping)
