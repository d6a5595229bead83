"""The privacy statement for the people in a dataset, from its whole budgets."""

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
    """State in one or two plain sentences what the whole budgets of a dataset protect.

    The sentences speak of presence, and of whereabouts where points may be published too. `unit` is
    the privacy unit; `say` translates a sentence, and `figure` the separators of an English figure.
    """
    total = dataset.ledger.total
    points = points_ledger(dataset.ledger)
    if points is None or points.radius is None:
        return privacy_sentence(total, unit, say, figure)
    return points_sentence(total, unit, points.total, points.radius, say, figure)
