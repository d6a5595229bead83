"""Domain: public declarations about a dataset, made before any row is read.

A domain has a study area, a time zone, named layers (zones to count in, places to choose from,
densities), the public attributes of reports, measures (columns of private numbers, with public
limits), categories (columns of private values from a public list), and whether columns say where
trips end. A mechanism's parameters name the layers and columns that it uses. All of this is public
input, chosen from maps and lists and never from the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from dpgeo.core.attributes import Attribute
from dpgeo.core.categories import Category
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.core.measures import Measure
from dpgeo.phrases import Phrase, listed
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.density import Density
from dpgeo.spatial.places import Places
from dpgeo.spatial.zones import Zones


class LayerKind(StrEnum):
    """Kind of a declared layer; the values are the names used in forms and the API."""

    ZONES = "zones"
    PLACES = "places"
    DENSITY = "density"


PublicLayer = Zones | Places | Density
"""Type of a declared layer: zones, places or a density."""

L = TypeVar("L", bound=PublicLayer)

LAYER_TYPES: Mapping[LayerKind, type[PublicLayer]] = {
    LayerKind.ZONES: Zones,
    LayerKind.PLACES: Places,
    LayerKind.DENSITY: Density,
}
"""The class that represents each kind of layer."""


@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """The study area, layers by name, time zone, declared columns and privacy unit of a dataset.

    `time_zone` is the zone of local times, or "" if no time column is declared. `destinations` says
    whether columns with the destinations of trips are declared, and `place_keys` whether a column
    with the keys of places is declared.
    """

    area: StudyArea
    layers: Mapping[str, PublicLayer] = field(default_factory=dict)
    time_zone: str = ""
    attributes: tuple[Attribute, ...] = ()
    measures: tuple[Measure, ...] = ()
    categories: tuple[Category, ...] = ()
    destinations: bool = False
    unit: Unit = Unit.PERSON
    place_keys: bool = False

    def layer(self, name: str, kind: type[L]) -> L:
        """Return the layer with this name and type. Raises InvalidInput if there is none."""
        layer = self.layers.get(name)
        if not isinstance(layer, kind):
            known = [each for each, other in self.layers.items() if isinstance(other, kind)]
            raise InvalidInput(no_such_layer(name, known))
        return layer


def no_such_layer(name: str, known: list[str]) -> Phrase:
    """Return the error message for a layer name that is not among the `known` names."""
    if not known:
        return Phrase("None is declared yet; declare one on the dataset's page first.")
    return Phrase("{name!r} is not declared; choose from {known}.", name=name, known=listed(known))
