"""Promise made to the people in a dataset: the most that may ever be spent on them."""

from __future__ import annotations

from fractions import Fraction

from dpgeo.artefacts.promises import Lifetime, PointsTotal
from dpgeo.budgets.selectors import points_ledger
from dpgeo.core.guarantees import Unit
from dpgeo.datasets.models import Dataset


def lifetime_limit(dataset: Dataset, unit: Unit | None = None, noun: str | None = None) -> Lifetime:
    """Return the most that may ever be spent on a dataset's people, as a `Lifetime`.

    `unit` and `noun`, the owner's word for a row, replace those of the dataset for a release that
    was drawn before they changed.
    """
    points = points_ledger(dataset.ledger)
    total = (
        None
        if points is None or points.radius is None
        else PointsTotal(
            pico=points.lifetime_units, radius=points.radius, input_step=points.snapping
        )
    )
    return Lifetime(
        unit=unit or Unit(dataset.unit),
        total=dataset.ledger.total,
        points=total,
        noun=dataset.row_noun if noun is None else noun,
        delta=dataset.ledger.delta or Fraction(0),
    )
