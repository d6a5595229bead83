"""The busiest places of a release, from its noisy counts alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.core.noise import CountNoise
from dpgeo.core.released import Content, PlacesRelease
from dpgeo.phrases import listed
from dpgeo.postprocess.layers.features import RANKS
from dpgeo.postprocess.layers.layer import PointLayer
from dpgeo.postprocess.layers.places import LIKELY, context_layers
from dpgeo.postprocess.place_ranks import joint_margin
from dpgeo.postprocess.summary import counted


@dataclass(frozen=True, slots=True)
class RankedPlace:
    """A place with its noisy count, margin, posterior mean, and the ranks that it may have."""

    key: str
    name: str
    longitude: float
    latitude: float
    count: int
    margin: float
    likely: float
    best: int
    worst: int


@dataclass(frozen=True, slots=True, eq=False)
class TopPlaces:
    """Places with their noisy counts in one context; `order` (n,) lists indices, busiest first.

    Places with equal counts keep their order in the list.
    """

    layer: PointLayer
    noise: CountNoise
    order: NDArray[np.intp]

    @classmethod
    def of(cls, content: Content, context: str = "") -> Self:
        """Return the places of a release in one context, or over all contexts for "".

        Raises Conflict for a release without places, and InvalidInput (field "context") if there is
        no such context.
        """
        if not isinstance(content, PlacesRelease):
            raise Conflict("This release has no places to rank; choose a release of places.")
        keys = content.slices.keys
        if context and not keys:
            raise InvalidInput(
                "This release has no contexts to choose from; leave this out.", field="context"
            )
        if context and context not in keys:
            raise InvalidInput(
                "There is no context {context!r}; choose from {known}.",
                context=context,
                known=listed(keys),
                field="context",
            )
        number = keys.index(context) + 1 if context else 0
        layer = context_layers(content)[number]
        noise = content.pair_noise if number else content.noise
        return cls(layer, noise, np.argsort(-counted(layer)[0], kind="stable"))

    def __len__(self) -> int:
        return len(self.layer)

    @property
    def joint_margin(self) -> int:
        """The smallest t such that, with probability 95 %, no place's noise is larger in size."""
        return joint_margin(self.noise, len(self))

    def among(self, k: int) -> tuple[int, int]:
        """Return how many places must be among the k busiest by their rank intervals, and how many
        others may be.
        """
        best, worst = (self.layer.columns[name] for name in RANKS)
        surely = int(np.count_nonzero(worst <= k))
        return surely, int(np.count_nonzero(best <= k)) - surely

    def first(self, k: int) -> list[RankedPlace]:
        """Return the places with the k highest noisy counts, highest first."""
        return [self._place(index) for index in self.order[:k].tolist()]

    def _place(self, index: int) -> RankedPlace:
        layer, columns = self.layer, self.layer.columns
        value, margin, _ = counted(layer)
        return RankedPlace(
            key=str(columns["key"][index]),
            name=str(columns["name"][index]),
            longitude=float(layer.longitude[index]),
            latitude=float(layer.latitude[index]),
            count=int(value[index]),
            margin=float(margin[index]),
            likely=float(columns[LIKELY][index]),
            best=int(columns[RANKS[0]][index]),
            worst=int(columns[RANKS[1]][index]),
        )
