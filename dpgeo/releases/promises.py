"""The privacy promise of a single release, derived from its database row alone."""

from __future__ import annotations

from dpgeo.artefacts.promises import Promise, of_one_map, of_points
from dpgeo.core.guarantees import GeoInd, Unit
from dpgeo.releases.models import Release
from dpgeo.spatial.ground_grid import snapped_apart


def promise_of(release: Release) -> Promise:
    """Return the promise that a release makes about what can be guessed about a person.

    The release need not have been drawn yet.
    """
    dataset, cost = release.dataset, release.cost
    if not isinstance(cost, GeoInd):
        return of_one_map(cost, dataset.row_noun, release.request.household)
    radius = int(release.request.parameters["radius"])
    apart = snapped_apart(radius, release.ledger.snapping)
    return of_points(
        release.epsilon * apart, radius, release.bound, dataset.row_noun, Unit(dataset.unit)
    )
