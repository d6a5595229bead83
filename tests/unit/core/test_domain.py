"""Layers named in parameters, and errors that list the declared layers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import shapely

from dpgeo.core.domain import Domain, LayerKind
from dpgeo.core.errors import InvalidInput
from dpgeo.core.parameters import (
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
