"""The privacy promise of a single release, derived from its database row alone."""

from __future__ import annotations

from fractions import Fraction

from dpgeo.artefacts.promises import Promise, of_counts, of_points
from dpgeo.core.guarantees import Unit
from dpgeo.releases.models import Release
from dpgeo.spatial.ground_grid import snapped_apart


def promise_of(release: Release) -> Promise:
    """Return the promise that a release makes about what can be guessed about a person.

    The release need not have been drawn yet.
    """
    dataset = release.dataset
    if release.ledger.radius is None:
        delta = release.delta or Fraction(0)
        return of_counts(release.epsilon, Unit(dataset.unit), dataset.row_noun, delta=delta)
    radius = int(release.parameters["radius"])
    apart = snapped_apart(radius, release.ledger.snapping)
    return of_points(
        release.epsilon * apart, radius, release.bound, dataset.row_noun, Unit(dataset.unit)
    )
