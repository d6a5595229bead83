"""The domain: what is publicly declared of where people may be, before any row is read.

A study area, the zone of its times, and layers by name: zones to count in, places to choose among,
and densities known beforehand; and the attributes of reports that are public.
Mechanisms name a layer by a parameter. All of it is public input, chosen from maps and never from
the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from dpgeo.core.attributes import Attribute
from dpgeo.core.errors import InvalidInput
from dpgeo.phrases import Phrase, listed
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.density import Density
from dpgeo.spatial.places import Places
from dpgeo.spatial.zones import Zones


class LayerKind(StrEnum):
    """What a declared layer is; the value is how forms and the API name it."""

    ZONES = "zones"
    PLACES = "places"
    DENSITY = "density"


PublicLayer = Zones | Places | Density
"""Any declared layer."""

L = TypeVar("L", bound=PublicLayer)

LAYER_TYPES: Mapping[LayerKind, type[PublicLayer]] = {
    LayerKind.ZONES: Zones,
    LayerKind.PLACES: Places,
    LayerKind.DENSITY: Density,
}
"""The type that holds the layers of a kind."""


@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """A study area and those of its declared layers that a run needs, by name, and attributes.

    `time_zone` is the one in which local times are told, "" where no column of times is declared.
    """

    area: StudyArea
    layers: Mapping[str, PublicLayer] = field(default_factory=dict)
    time_zone: str = ""
    attributes: tuple[Attribute, ...] = ()

    def layer(self, name: str, kind: type[L]) -> L:
        """The layer of a name. Raises InvalidInput where there is none of this kind."""
        found = self.layers.get(name)
        if not isinstance(found, kind):
            known = [each for each, layer in self.layers.items() if isinstance(layer, kind)]
            raise InvalidInput(no_such_layer(name, known))
        return found


def no_such_layer(name: str, known: list[str]) -> Phrase:
    """What to say of a layer that was not declared."""
    if not known:
        return Phrase("None is declared yet; declare one on the dataset's page first.")
    return Phrase("{name!r} is not declared; choose from {known}.", name=name, known=listed(known))
