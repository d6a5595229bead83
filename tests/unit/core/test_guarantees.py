from __future__ import annotations

from fractions import Fraction

import pytest

from dpgeo.core.guarantees import GeoInd, PureDP, Unit, protected_at


def test_guarantees_of_one_notion_and_privacy_unit_add_up_exactly() -> None:
    third = PureDP(Fraction(1, 3), Unit.PERSON)

    assert third + third + third == PureDP(Fraction(1), Unit.PERSON)
    assert GeoInd(5, Unit.PERSON) + GeoInd(7, Unit.PERSON) == GeoInd(12, Unit.PERSON)


def test_guarantees_of_different_notions_or_units_refuse_to_add() -> None:
    person = PureDP(Fraction(1), Unit.PERSON)

    with pytest.raises(TypeError):
        person + PureDP(Fraction(1), Unit.RECORD)
    with pytest.raises(TypeError):
        person + GeoInd(5, Unit.PERSON)
    with pytest.raises(TypeError):
        GeoInd(5, Unit.PERSON) + person
    with pytest.raises(TypeError):
        sum([person])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("share", "people", "stated"),
    [("0.333333", 3, "1"), ("0.125", 4, "0.5"), ("0.777777", 3, "2.333331"), ("0.3", 1, "0.3")],
)
def test_a_household_is_protected_at_the_roundest_epsilon_of_its_share(
    share: str, people: int, stated: str
) -> None:
    cost = PureDP(Fraction(share), Unit.PERSON)
    assert protected_at(cost, people) == (Fraction(stated), Fraction(0))
