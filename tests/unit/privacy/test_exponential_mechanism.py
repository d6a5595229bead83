"""The exact exponential mechanism, lists of places cut or extended, and random permutations."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from dpgeo.core.errors import PrivacyError
from dpgeo.core.spend import Spend
from dpgeo.privacy.exponential_mechanism import (
    STEPS,
    Bins,
    draw_permutation,
    draw_uniform,
    fit_to_counts,
    replace_places,
    scores,
)
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.person_records import PrivateVisits
from dpgeo.spatial.centres import Centres
from tests.randomness import CountingEntropy, CraftedWords, SeededEntropy, SeededWords, ZeroNoise

AT = Centres.from_degrees([10.0, 10.01, 10.03, 10.1, 10.11, 10.2], [50.0, 50.01, 50.0, 50, 50, 50])
BINS = Bins.ranked(np.array([0, 0, 0, 1, 1, 2]), 3, AT, np.array([3.0, 1, 2, 5, 4, 0]))


def test_bins_rank_their_places_by_distance() -> None:
    assert BINS.order.tolist() == [1, 2, 0, 4, 3, 5]
    assert BINS.rank.tolist() == [2, 0, 1, 1, 0, 0]
    assert BINS.start.tolist() == [0, 3, 5, 6]
    assert BINS.diameter[2] == 0


def test_places_are_truncated_in_order_or_extended_cyclically() -> None:
    persons = np.array([0, 0, 0, 1])
    places = np.array([0, 1, 0, 3])
    wanted = np.array([[2, 0, 1], [4, 3, 0]])

    fitted = fit_to_counts(persons, places, wanted, BINS)
    pairs = Counter(zip(*map(np.ndarray.tolist, fitted), strict=True))

    assert pairs == Counter(
        {(0, 1): 1, (0, 0): 1, (0, 5): 1, (1, 1): 2, (1, 2): 1, (1, 0): 1, (1, 3): 2, (1, 4): 1}
    )


def test_adding_a_place_changes_the_fitted_places_by_one_substitution() -> None:
    random = np.random.default_rng(1)
    for _ in range(300):
        places = random.integers(0, 6, random.integers(0, 9))
        more = np.append(places, random.integers(0, 6))
        wanted = random.integers(0, 6, (1, 3))
        one, other = (
            Counter(fit_to_counts(np.zeros(len(each), int), each, wanted, BINS)[1].tolist())
            for each in (places, more)
        )
        assert one.total() == other.total() == wanted.sum()
        gone, come = one - other, other - one
        assert gone.total() == come.total() <= 1
        # One more real place replaces at most one place of the result, by one of the same bin.
        assert {BINS.of_place[place] for place in gone} == {BINS.of_place[place] for place in come}


@pytest.mark.parametrize("rate", [Fraction(1, 2 * STEPS), Fraction(4, 2 * STEPS)])
def test_places_are_drawn_with_the_odds_of_the_exponential_mechanism(rate: Fraction) -> None:
    size = 60_000
    drawn = replace_places(np.zeros(size, dtype=np.int64), BINS, rate, SeededWords(1))
    candidates = BINS.order[:3]
    weight = np.exp(-float(rate) * scores(np.zeros(3, dtype=np.int64), candidates, BINS))
    expected = size * weight / weight.sum()
    frequencies = np.array([(drawn == each).sum() for each in candidates])

    assert frequencies.sum() == size
    # Chi-square with two degrees of freedom exceeds 50 in less than one of 1e10 runs.
    assert ((frequencies - expected) ** 2 / expected).sum() < 50
    # With 30 % more epsilon, the same draws would fail the test.
    wrong = weight**1.3
    wrong *= size / wrong.sum()
    if rate * STEPS > 1:
        assert ((frequencies - wrong) ** 2 / wrong).sum() > 50


def test_without_noise_every_place_is_kept() -> None:
    places = np.array([0, 3, 5, 2])
    assert (
        replace_places(places, BINS, Fraction(1), ZeroNoise().stream()).tolist() == places.tolist()
    )


def test_uniform_numbers_reject_words_that_would_bias_them() -> None:
    # 2^64 = 3 * 6148914691236517205 + 1, so the 64-bit words cannot be divided evenly among three
    # numbers: the largest word is rejected.
    words = CraftedWords([2**64 - 1, 5, 7])
    assert draw_uniform(np.array([3, 4]), words).tolist() == [7 % 3, 1]


def test_every_permutation_is_equally_likely() -> None:
    words = SeededWords(3)
    frequencies = Counter(tuple(draw_permutation(4, words).tolist()) for _ in range(12_000))
    assert len(frequencies) == 24
    assert sum((count - 500) ** 2 / 500 for count in frequencies.values()) < 100


def visits(persons: list[int], places: list[int], people: int = 3) -> PrivateVisits:
    pairs = PrivateVisits(np.array(persons, int), np.array(places, int), size=6, sensitivity=2)
    return Meter([], SeededEntropy(0)).assign_virtual_user(pairs, people)


def test_each_person_is_assigned_to_one_virtual_user_with_all_records() -> None:
    people = np.arange(6000)
    assigned, items = visits([*people, *people], [*people % 6, *[5] * 6000])._read_by_meter()

    assert items[6000:].tolist() == [5] * 6000
    assert (assigned[:6000] == assigned[6000:]).all()
    # Each of three virtual users is expected to get 2,000 people, with standard deviation 36.5. A
    # difference of more than 250 occurs in less than one of 1e11 runs.
    assert np.bincount(assigned[:6000]) == pytest.approx([2000] * 3, abs=250)


def test_adding_a_person_only_adds_records_to_one_virtual_user() -> None:
    fewer, more = visits([0, 1, 2], [0, 1, 1], 2), visits([0, 1, 2, 3, 3], [0, 1, 1, 4, 5], 2)
    counts = [each.person_counts(np.arange(6), 6) for each in (fewer, more)]
    added = counts[1]._read_by_meter() - counts[0]._read_by_meter()

    assert added.min() == 0
    assert sorted(added.sum(axis=1)) == [0, 2]
    assert {each.sensitivity for each in counts} == {2}


def test_virtual_users_are_assigned_once() -> None:
    entropy = CountingEntropy()
    pairs = PrivateVisits(np.array([0]), np.array([0]), size=6, sensitivity=2)
    with pytest.raises(PrivacyError):
        Meter([], entropy).assign_virtual_user(pairs, 0)
    with pytest.raises(PrivacyError):
        Meter([], entropy).assign_virtual_user(visits([0], [0]), 3)
    assert entropy.opened == 0


def test_places_that_do_not_match_the_bins_are_refused_before_any_draw() -> None:
    entropy = CountingEntropy()
    meter = Meter([Spend(label="places", epsilon=Fraction(1))], entropy)
    for wanted in (np.zeros((2, 3), int), np.zeros((3, 2), int)):
        with pytest.raises(PrivacyError):
            meter.replace("places", visits([0], [0]), wanted, BINS)
    with pytest.raises(PrivacyError):
        meter.replace("places", visits([0], [0]).counts(), np.zeros((3, 3), int), BINS)  # type: ignore[arg-type]
    assert entropy.opened == 0


def test_counts_of_people_and_bins_have_the_bound_as_sensitivity() -> None:
    counts = visits([0, 0, 2], [0, 1, 5]).person_counts(BINS.of_place, 3)
    assert counts.sensitivity == 2
    assert sorted(counts._read_by_meter().tolist()) == [[0, 0, 0], [0, 0, 1], [2, 0, 0]]
    assert "0, 5" not in repr(visits([0], [5]))
