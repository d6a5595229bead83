"""The privacy sentence for people in the data: it promises what the guarantee gives, no more."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpgeo.artefacts.promises import (
    Lifetime,
    PointsTotal,
    in_places_and_groups,
    of_counts,
    of_points,
)
from dpgeo.core.guarantees import ZCDP, PureDP, Unit
from dpgeo.core.guessing import right_guesses
from dpgeo.core.levels import make_level
from dpgeo.core.nouns import NOUNS
from dpgeo.core.zcdp import epsilon_at
from dpgeo.spatial.ground_grid import snapped_apart

POINTS = PointsTotal(pico=make_level("ln 16", 200).pico, radius=200, input_step=1000)


@pytest.mark.parametrize(
    ("epsilon", "ending"),
    [
        ("0.5", "at most 63 times."),
        ("8", "in the worst case almost always."),
    ],
)
def test_a_person_is_promised_a_bound_on_guesses(epsilon: str, ending: str) -> None:
    sentence = of_counts(Fraction(epsilon), Unit.PERSON).sentence
    assert sentence.endswith(
        "Suppose someone knows the data of everyone else and has to guess: are you in these data, "
        f"too? A coin toss gets it right 50 times in 100; a guess from this map, {ending}"
    )


def test_a_record_is_promised_by_the_owners_word() -> None:
    trip = of_counts(Fraction(1), Unit.RECORD, "trip").sentence
    assert trip.startswith("Strong protection for each trip, not for each traveller. Suppose")
    assert trip.endswith("Someone with many trips in the data is protected less.")
    assert "for each row, not for each person." in of_counts(Fraction(1), Unit.RECORD).sentence


def test_no_owner_can_put_other_words_into_the_promise() -> None:
    assert "person" not in NOUNS
    assert "for each row," in of_counts(Fraction(1), Unit.RECORD, "person").sentence


def test_all_maps_together_are_the_lifetime_total() -> None:
    [line] = Lifetime(unit=Unit.PERSON, total=Fraction(2)).lines
    assert str(line) == (
        "All maps from these data together: moderate; a guess is right at most 89 times in 100."
    )
    [line] = Lifetime(unit=Unit.PERSON, total=Fraction(8)).lines
    assert str(line) == "All maps from these data together: weak; in the worst case almost certain."


def test_a_budget_for_points_never_changes_the_figure_of_counts() -> None:
    alone = Lifetime(unit=Unit.PERSON, total=Fraction(1))
    beside = Lifetime(unit=Unit.PERSON, total=Fraction(1), points=POINTS)
    assert alone.counts == beside.counts
    counts, points_line = map(str, beside.lines)
    assert counts == (
        "All maps of counts from these data together: strong; a guess is right at most 74 times "
        "in 100."
    )
    assert points_line == "Moved points from these data show that reports were made."


def test_places_are_bounded_by_counts_twice_and_all_points() -> None:
    lifetime = Lifetime(unit=Unit.PERSON, total=Fraction(1, 10), points=POINTS)
    level = Fraction(POINTS.pico, 10**12) * snapped_apart(200, 1000)
    assert lifetime.places is not None
    assert lifetime.places.right == right_guesses(Fraction(1, 5) + level) == 96


def test_points_promise_where_and_never_whether() -> None:
    loss = make_level("ln 4", 200).epsilon * snapped_apart(200, 1000)
    one, three = of_points(loss, 200, 1), of_points(loss, 200, 3)
    # Snapping may move two places up to 1.5 m further apart, which the number in the sentence
    # allows for.
    assert one.sentence == (
        "Moderate protection of where you were. Suppose someone has to guess: did you make your "
        "report here or 200 m away? A coin toss gets it right 50 times in 100; a guess from this "
        "map, at most 81 times. That a report was made is not hidden, nor how many there are."
    )
    assert "did you make all of your reports here" in three.sentence


def test_points_of_rows_promise_nothing_about_people() -> None:
    loss = make_level("ln 4", 200).epsilon * snapped_apart(200, 1000)
    one = of_points(loss, 200, 1, "check-in", Unit.RECORD)
    assert one.sentence == (
        "Moderate protection of where each check-in was made, not of where you were. Suppose "
        "someone has to guess about one check-in: was it made here or 200 m away? A coin toss gets "
        "it right 50 times in 100; a guess from this map, at most 81 times. Someone with many "
        "check-ins in the data is protected less. That a check-in was made is not hidden, nor how "
        "many there are."
    )
    of_rows = Lifetime(unit=Unit.RECORD, total=Fraction(1, 2), points=POINTS)
    [line] = map(str, of_rows.lines_of_points)
    assert line.startswith("Where one report was made, from all maps and points")
    assert line.endswith("Someone with many reports in the data is protected less.")


def test_where_you_were_counts_twice_and_a_family_four_times() -> None:
    where, family = map(str, in_places_and_groups(PureDP(Fraction(1, 2), Unit.PERSON)))
    assert where.endswith("in these data: at most 74 times in 100, as with twice the epsilon.")
    assert family == (
        "Whether a family of 4 is in these data, all of them or none, is easier to guess: at most "
        "89 times in 100, as with 4 times the epsilon."
    )
    [rows] = map(str, in_places_and_groups(PureDP(Fraction(1, 2), Unit.RECORD), "trip"))
    assert rows.startswith("Whether 4 trips of one person are in these data, all of them or none")


def test_in_rho_a_change_of_place_counts_four_times_and_a_family_sixteen_times() -> None:
    delta = Fraction(1, 10**9)
    cost = ZCDP(Fraction(2, 1000), delta, Unit.PERSON)
    where, family = map(str, in_places_and_groups(cost))
    moved = right_guesses(epsilon_at(4 * cost.rho, delta), delta)
    assert f"at most {moved} times in 100, as with four times the rho" in where
    four = right_guesses(epsilon_at(16 * cost.rho, delta), delta)
    assert f"at most {four} times in 100, as with 16 times the rho" in family


def test_the_small_print_of_a_rho_names_delta_and_says_what_adds_up() -> None:
    delta = Fraction(1, 10**9)
    lifetime = Lifetime(unit=Unit.PERSON, total=Fraction(3), delta=delta)
    words = str(lifetime.small(ZCDP(Fraction(2, 1000), delta, Unit.PERSON)))
    assert words.startswith("Rho 0.002 per person for this map, which is epsilon ")
    assert "at delta 1e-9" in words
    assert "their epsilons do not" in words


@pytest.mark.parametrize("unit", Unit)
def test_the_small_print_of_a_pure_map_names_the_delta_of_all_maps(unit: Unit) -> None:
    lifetime = Lifetime(unit=unit, total=Fraction(3), delta=Fraction(1, 10**9))
    words = str(lifetime.small(PureDP(Fraction(1, 5), unit)))
    assert words.startswith("Epsilon 0.2 per ")
    assert "for all maps together, epsilon 3 at delta 1e-9." in words
