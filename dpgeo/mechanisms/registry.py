"""Registry of mechanisms, used by forms, the API, documentation and tests.

The first mechanism in MECHANISMS is the default. Of mechanisms with the same `Subject` (what they
show), the first is recommended.
"""

from __future__ import annotations

from collections.abc import Mapping

from dpgeo.core.errors import InvalidInput
from dpgeo.core.kinds import Kind
from dpgeo.core.subjects import Subject
from dpgeo.mechanisms import (
    adaptive_grid,
    auto,
    auto_by_time,
    averages,
    category_slices,
    contours,
    dpcube,
    flows,
    places,
    planar_laplace,
    prilocation,
    private_clusters,
    privtree,
    profile,
    quadtree,
    quartiles,
    sparse_grid,
    time_slices,
    trips,
    uniform_grid,
    zones,
)
from dpgeo.phrases import listed
from dpgeo.privacy.mechanism import Mechanism

MECHANISMS: Mapping[str, Mechanism] = {
    mechanism.key: mechanism
    for mechanism in (
        auto.MECHANISM,
        uniform_grid.MECHANISM,
        dpcube.MECHANISM,
        adaptive_grid.MECHANISM,
        quadtree.MECHANISM,
        privtree.MECHANISM,
        sparse_grid.MECHANISM,
        auto_by_time.MECHANISM,
        time_slices.MECHANISM,
        category_slices.MECHANISM,
        private_clusters.MECHANISM,
        prilocation.MECHANISM,
        zones.MECHANISM,
        averages.MECHANISM,
        quartiles.MECHANISM,
        flows.MECHANISM,
        trips.MECHANISM,
        places.MECHANISM,
        profile.MECHANISM,
        contours.MECHANISM,
        planar_laplace.MECHANISM,
    )
}


DEFAULT = next(iter(MECHANISMS))
"""Key of the mechanism that is used by default."""


def find_mechanism(key: str) -> Mechanism:
    """Return the mechanism with this key. Raises InvalidInput, listing the keys, if none has it."""
    if key not in MECHANISMS:
        raise InvalidInput(
            "There is no mechanism {key!r}; choose from {known}.",
            key=key,
            known=listed(MECHANISMS),
            field="mechanism",
        )
    return MECHANISMS[key]


def kind_mechanisms(kind: Kind) -> list[str]:
    """Return the keys of the mechanisms that release a given kind of map."""
    return [key for key, mechanism in MECHANISMS.items() if mechanism.kind is kind]


def mechanisms_about(subject: Subject) -> list[str]:
    """Return the keys of the mechanisms that show a given `Subject`, the recommended one first."""
    return [key for key, mechanism in MECHANISMS.items() if subject in mechanism.subjects]


def find_kind(key: str) -> Kind | None:
    """Return a mechanism's kind of map, or None if the mechanism no longer exists."""
    return MECHANISMS[key].kind if key in MECHANISMS else None
