"""Layers named in parameters, and errors that list the declared layers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import shapely

from dpgeo.core.domain import Domain, LayerKind
from dpgeo.core.errors import InvalidInput
from dpgeo.core.parameters import (
    json_schema,
    layers_named,
    param,
    parse_parameters,
    settle_layers,
)
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.zones import Zones

AREA = StudyArea.from_bounds(0, 0, 4, 2)
WARDS = Zones(keys=("a",), names=("A",), shapes=np.array([shapely.box(0, 0, 1, 1)]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    zones: str = param("", "Where to count.", layer=LayerKind.ZONES)
    prior: str = param("", "What is expected.", layer=LayerKind.DENSITY, optional=True)
    cells: int = param(4, "Cells.", low=1, high=8)


def test_a_layer_is_found_by_its_name_and_kind() -> None:
    domain = Domain(AREA, {"wards": WARDS})
    assert domain.layer("wards", Zones) is WARDS
    with pytest.raises(InvalidInput, match="'parks' is not declared; choose from wards"):
        domain.layer("parks", Zones)
    with pytest.raises(InvalidInput, match="None is declared yet"):
        Domain(AREA).layer("wards", Zones)


def test_an_empty_name_means_the_only_layer() -> None:
    known = {"wards": LayerKind.ZONES, "streets": LayerKind.DENSITY}
    settled = settle_layers(Params(), known)
    assert (settled.zones, settled.prior) == ("wards", "")
    assert layers_named(settled) == ["wards"]
    with pytest.raises(InvalidInput, match="choose from wards, tracts") as refusal:
        settle_layers(Params(), {**known, "tracts": LayerKind.ZONES})
    assert refusal.value.field == "zones"


@pytest.mark.parametrize("name", ["streets", "nowhere"])
def test_an_undeclared_layer_is_refused(name: str) -> None:
    known = {"wards": LayerKind.ZONES, "streets": LayerKind.DENSITY}
    params = parse_parameters(Params, {"zones": name})
    with pytest.raises(InvalidInput, match=f"'{name}' is not declared; choose from wards"):
        settle_layers(params, known)
    with pytest.raises(InvalidInput, match="None is declared yet"):
        settle_layers(params, {})
    with pytest.raises(InvalidInput) as refusal:
        settle_layers(parse_parameters(Params, {"zones": "wards", "prior": "wards"}), known)
    assert refusal.value.field == "prior"


def test_the_schema_says_which_kind_of_layer_is_named() -> None:
    assert json_schema(Params)["properties"]["zones"] == {
        "type": "string",
        "description": "Where to count.",
        "default": "",
        "x-layer": "zones",
    }
