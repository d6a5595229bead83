"""Every mechanism, one line each. Forms, API, docs, conformance tests and benchmarks follow.

The first is the default.
"""

from __future__ import annotations

from collections.abc import Mapping

from dpgeo.core.errors import InvalidInput
from dpgeo.core.kinds import Kind
from dpgeo.mechanisms import (
    adaptive_grid,
    auto,
    contours,
    dpcube,
    planar_laplace,
    prilocation,
    private_clusters,
    privtree,
    quadtree,
    sparse_grid,
    time_slices,
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
        time_slices.MECHANISM,
        private_clusters.MECHANISM,
        prilocation.MECHANISM,
        zones.MECHANISM,
        contours.MECHANISM,
        planar_laplace.MECHANISM,
    )
}


DEFAULT = next(iter(MECHANISMS))
"""Key of the mechanism for those who have no reason to take another."""


def find_mechanism(key: str) -> Mechanism:
    """The mechanism of a key. Raises InvalidInput that lists the keys."""
    if key not in MECHANISMS:
        raise InvalidInput(
            "There is no mechanism {key!r}; choose from {known}.",
            key=key,
            known=listed(MECHANISMS),
            field="mechanism",
        )
    return MECHANISMS[key]


def kind_of(key: str) -> Kind | None:
    """The kind of release a mechanism makes; None for one that is no longer here."""
    return MECHANISMS[key].kind if key in MECHANISMS else None
