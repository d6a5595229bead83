"""Audit of series: an attack by somebody who sees all maps of a series.

The attacker knows everything but whether one person is in the data, and guesses only on sequences
of maps in which each number is as far to one side as the person could move it. These are the events
on which the claimed epsilon is tight. From map to map, a state says what each person has used of
their allowance. With dpgeo's own handling of the state, the claim is not disproved; with a planted
fault in the state, it is. Counting, bounding and noise are done by dpgeo's own code.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import shapely
from numpy.typing import NDArray

from dpgeo.core.domain import Domain
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.zcdp import epsilon_at
from dpgeo.engine.series_view import Allowances, SeriesView
from dpgeo.mechanisms import flows, places, sparse_grid, uniform_grid, zones
from dpgeo.privacy.mechanism import Mechanism, run
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.places import Places
from dpgeo.spatial.zones import Zones
from tests.audit.bounds import Guesses, disproved, least_epsilon
from tests.audit.guessing import Rule, play
from tests.randomness import SeededEntropy
from tests.statistical.audit import Counted
from tests.statistical.bounds import EFFORT, seed
from tests.unit.engine.canonical import AREA, Row, centre, write

pytestmark = pytest.mark.statistical

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

EPSILON, ALLOWANCE = Fraction(2), 4
PARAMS = uniform_grid.Params(cells=2)
GRID = Grid.over(AREA, PARAMS.cells)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of map, and how to read its noisy counts and their shares of epsilon from a
    release.
    """

    mechanism: Mechanism
    params: Any
    figures: Callable[[Any], tuple[Ints, Floats]]


def one_count_each(content: Any) -> tuple[Ints, Floats]:
    """Return the noisy counts of a release's n cells (n,), and their shares of epsilon, 1 each."""
    return content.counts.ravel(), np.ones(content.counts.size)


def of_list(content: Any) -> tuple[Ints, Floats]:
    """Return the counts of all cells, with unlisted cells just below the threshold, and their
    shares of epsilon, 1 each.
    """
    counts = np.full(content.grid.size, content.threshold - 1)
    counts[content.cells] = content.counts
    return counts, np.ones(counts.size)


def of_flows(content: Any) -> tuple[Ints, Floats]:
    """Return the counts of pairs, departures and arrivals, with each one's share of epsilon."""
    parts = {
        flows.PAIRS: content.pairs,
        flows.LEAVING: content.leaving.ravel(),
        flows.ARRIVING: content.arriving.ravel(),
    }
    shares = [np.full(part.size, float(flows.SHARES[label])) for label, part in parts.items()]
    return np.concatenate(list(parts.values())), np.concatenate(shares)


GRID_KIND = Kind(mechanism=uniform_grid.MECHANISM, params=PARAMS, figures=one_count_each)

KINDS = {
    "zones": Kind(
        mechanism=zones.MECHANISM, params=zones.Params(zones="halves"), figures=one_count_each
    ),
    "sparse grid": Kind(
        mechanism=sparse_grid.MECHANISM,
        params=sparse_grid.Params(cells=2, threshold=20),
        figures=of_list,
    ),
    "places": Kind(
        mechanism=places.MECHANISM,
        params=places.Params(places="spots", reach=20_000),
        figures=one_count_each,
    ),
    "flows": Kind(
        mechanism=flows.MECHANISM, params=flows.Params(cells=2, gap_hours=1), figures=of_flows
    ),
}
"""Kinds of series other than the uniform grid, which the other tests use."""

WEST, SOUTH, EAST, NORTH = AREA.bounds

DOMAIN = Domain(
    AREA,
    {
        "halves": Zones(
            keys=("w", "e"),
            names=("West", "East"),
            shapes=shapely.box([WEST, 13.1], SOUTH, [13.1, EAST], NORTH),
        ),
        "spots": Places.of_cells(AREA, 2),
    },
    "UTC",
)

EXACT = Fraction(4000)
"""An epsilon with which all noise is 0, except with a probability below e^-300."""

PERSON = 99
DIGEST = (3).to_bytes(8) + PERSON.to_bytes(8)

CHANCE = 1e-9
"""Probability with which a true claim is wrongly disproved."""

MAX_DRAWS = 2000 * EFFORT


RHO, DELTA = Fraction(1, 4), Fraction(1, 1000)
CLAIMED = float(epsilon_at(RHO, DELTA))
"""The epsilon at DELTA of series that are paid with RHO."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One map of a sequence, with the index of the earlier map whose state it reads, or None.

    A state says what each person has used of their allowance. If `erased`, the person is erased
    when the map is drawn. If `forgotten`, the person is missing from the state that is read.
    """

    state: int | None
    salt: int = 0
    erased: bool = False
    forgotten: bool = False


FIRST, SECOND, THIRD = Step(state=None), Step(state=0), Step(state=1)
BUILT = [FIRST, SECOND, THIRD, Step(state=2)]
NEW_SALTS = [Step(state=step.state, salt=number) for number, step in enumerate(BUILT)]
ERASED = Step(state=0, erased=True)

FAULTS = {
    "the state is lost": (BUILT, [FIRST, SECOND, Step(state=None)]),
    "two due periods are drawn at once": (BUILT, [FIRST, FIRST, THIRD]),
    "a period is drawn again with a new salt": (NEW_SALTS, [FIRST, Step(state=None, salt=1)]),
    "an erased and readmitted person starts anew": (
        [FIRST, ERASED, THIRD],
        [FIRST, ERASED, Step(state=1, forgotten=True)],
    ),
}
"""For each fault, the maps (`Step`) of a correct sequence and of one with the fault."""


DAY = 86_400

OTHERS = 60
"""Number of other people; with so many, a sparse release always lists the cell where they are."""


def rows_of_period(*, person: bool, apart: bool = False) -> list[Row]:
    """Return one row of each of OTHERS people and, with `person`, twelve rows of the audited
    person.

    If `apart`, the twelve rows alternate between two cells. They are six pairs, one a day, and only
    the two rows of a pair follow each other so soon that they make a trip.
    """
    middles = [centre(GRID, 0, 0), centre(GRID, 0, 1 if apart else 0)]
    others: list[Row] = [(100 + who, *middles[0], who) for who in range(OTHERS)]
    own = range(12 if person else 0)
    return others + [(PERSON, *middles[each % 2], each // 2 * DAY + each % 2) for each in own]


def copy_to(target: Path, source: Path) -> None:
    shutil.copy(source, target)


def views_of(
    steps: Sequence[Step],
    folder: Path,
    kind: Kind,
    *,
    each: int,
    person: bool,
    counting: Counting = Counting.VISITS,
) -> list[Counted]:
    """Count the maps of a sequence one after another; return a private view of each."""
    views: list[Counted] = []
    rows = rows_of_period(person=person, apart=kind is KINDS["flows"])
    if counting is Counting.PEOPLE and person:
        # Add rows in every cell, so that the person may be counted once in each.
        rows += [(PERSON, *centre(GRID, at // 2, at % 2), at) for at in range(4)]
    path = write(folder / "rows.parquet", rows)
    for number, step in enumerate(steps):
        before = None if step.state is None else folder / f"{step.state}.used"
        if before is not None and step.forgotten:
            table = pq.read_table(before)
            before = folder / "forgotten.used"
            pq.write_table(table.filter(pc.not_equal(table["person_low"], PERSON)), before)
        after = folder / f"{number}.used"
        view = SeriesView(
            path,
            allowances=Allowances(
                each=each,
                before=before,
                erased=[DIGEST] if step.erased else [],
                keep=partial(copy_to, after),
            ),
            domain=DOMAIN,
            unit=Unit.PERSON,
            counting=counting,
            bound=ALLOWANCE,
            salt=bytes([step.salt] * 16),
            threads=1,
        )
        views.append(Counted(view))
        # Draw the map, because counting it stores what each person has used, which later maps read.
        figures_of(kind, views[-1], EXACT, SeededEntropy(0))
    return views


def figures_of(
    kind: Kind, view: Counted, epsilon: Fraction, entropy: SeededEntropy
) -> tuple[Ints, Floats]:
    """Draw one map; return its noisy counts and each count's share of epsilon."""
    return kind.figures(run(kind.mechanism, view, kind.params, epsilon, entropy, {}).content)


class Sequences:
    """Sequences of maps, drawn with and without the person, and their exact counts."""

    def __init__(
        self,
        steps: Sequence[Step],
        folder: Path,
        kind: Kind = GRID_KIND,
        *,
        each: int,
        first_seed: int,
    ) -> None:
        self._kind, self._views = kind, []
        for side in (0, 1):
            own = folder / str(side)
            own.mkdir(parents=True)
            self._views.append(views_of(steps, own, kind, each=each, person=bool(side)))
        self._entropy = [SeededEntropy(seed(first_seed + side)) for side in (0, 1)]

    def exact(self, side: int) -> Floats:
        """Return the counts (n,) without noise of all maps of a sequence."""
        return self._sequence(side, EXACT)

    @cached_property
    def shares(self) -> Floats:
        """The share of epsilon with which each count of a sequence of maps is measured, (n,)."""
        entropy = SeededEntropy(0)
        parts = [figures_of(self._kind, each, EXACT, entropy)[1] for each in self._views[0]]
        return np.concatenate(parts)

    def draw(self, side: int, number: int) -> Floats:
        """Draw `number` sequences; return the noisy counts (number, n) of all maps of each."""
        return np.array([self._sequence(side) for _ in range(number)])

    def _sequence(self, side: int, epsilon: Fraction = EPSILON) -> Floats:
        entropy = self._entropy[side]
        maps = [figures_of(self._kind, each, epsilon, entropy)[0] for each in self._views[side]]
        return np.concatenate(maps).astype(np.float64)

    @property
    def moved(self) -> float:
        """Sum of the person's changes to all counts, each weighted by its share of epsilon.

        The unit is a contribution to a count that is measured with the whole epsilon.
        """
        return round(float((self.shares * np.abs(self.exact(1) - self.exact(0))).sum()), 6)

    def rule(self, share: float = 1.0) -> Rule:
        """Return the rule that guesses only if no noisy count lies between its two exact values.

        These are the values without and with the person, and all counts must lie on the same side.
        With a `share` below 1, it is enough if the log-likelihood ratio of presence and absence is
        this share of its largest possible value.
        """
        without, within, shares = self.exact(0), self.exact(1), self.shares

        def score(sequences: Floats) -> Floats:
            distances = np.abs(sequences - without) - np.abs(sequences - within)
            return np.asarray((shares * distances).sum(axis=1)).round(6)

        least = share * self.moved
        return Rule("all numbers", score, -least, least, promise=0.0)

    def play(self, rule: Rule, coin: int) -> Guesses:
        """Guess for many sequences if they include the person, which the seed `coin` decides."""
        return play(
            self.draw,
            rule,
            claim=float(EPSILON),
            most=MAX_DRAWS,
            batch=250,
            chance=CHANCE,
            coin=seed(coin),
        )


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_state_is_caught_and_the_product_is_not(tmp_path: Path, fault: str) -> None:
    product, faulty = (
        Sequences(steps, tmp_path / name, each=ALLOWANCE, first_seed=50)
        for name, steps in zip(("product", "faulty"), FAULTS[fault], strict=True)
    )
    assert product.moved == ALLOWANCE < faulty.moved
    assert disproved(faulty.play(faulty.rule(), 60), float(EPSILON), CHANCE)
    assert not disproved(product.play(product.rule(), 61), float(EPSILON), CHANCE)


@pytest.mark.parametrize("each", [1, ALLOWANCE])
def test_all_of_epsilon_is_spent_at_once_or_spread_over_periods(tmp_path: Path, each: int) -> None:
    """A series keeps its epsilon whether a person counts in one map or, spread out, in several.

    The lower bound on epsilon shows that the attack works.
    """
    sequences = Sequences(BUILT, tmp_path, each=each, first_seed=70)
    assert sequences.moved == ALLOWANCE
    guesses = sequences.play(sequences.rule(), 63)
    assert not disproved(guesses, float(EPSILON), CHANCE)
    assert least_epsilon(guesses, CHANCE) > 0.6


@pytest.mark.parametrize("name", KINDS)
def test_a_lost_state_is_caught_in_every_kind_and_the_product_is_not(
    tmp_path: Path, name: str
) -> None:
    """In every kind of series, a lost state is detected, and with the state no fault is found.

    The state says what each person has used. A person's contributions are cells, zones, places or
    trips.
    """
    product, faulty = (
        Sequences(steps, tmp_path / part, KINDS[name], each=ALLOWANCE, first_seed=80)
        for part, steps in (("product", BUILT[:2]), ("faulty", [FIRST] * 4))
    )
    assert product.moved == ALLOWANCE
    assert faulty.moved == 4 * ALLOWANCE
    assert disproved(faulty.play(faulty.rule(0.5), 64), float(EPSILON), CHANCE)
    assert not disproved(product.play(product.rule(0.5), 65), float(EPSILON), CHANCE)


@pytest.mark.parametrize(
    ("steps", "counting", "times"),
    [
        (BUILT[:2], Counting.PEOPLE, 1),
        (BUILT[:2], Counting.VISITS, 1),
        ([FIRST] * 8, Counting.PEOPLE, 8),
    ],
    ids=["people", "visits", "the state is lost"],
)
def test_in_rho_a_lost_state_is_caught_and_the_product_is_not(
    tmp_path: Path, steps: Sequence[Step], counting: Counting, times: int
) -> None:
    """In a series in rho, a lost state is detected, and with the state no fault is found.

    A person is in ALLOWANCE cells of one map, or ALLOWANCE times in one of its cells. After that,
    the person adds nothing more. But if the state, which says so, is lost, the person adds as much
    to every map.
    """
    views = []
    for side in (0, 1):
        (folder := tmp_path / str(side)).mkdir()
        more: Any = {"each": ALLOWANCE, "person": bool(side), "counting": counting}
        views.append(views_of(steps, folder, GRID_KIND, **more))
    known = [exact_counts(each) for each in views]
    change = known[1] - known[0]
    squared = ALLOWANCE if counting is Counting.PEOPLE else ALLOWANCE**2
    assert change @ change == times * squared
    right = wrong = 0
    for side in (0, 1):
        drawn = drawn_in_rho(views[side], MAX_DRAWS, SeededEntropy(seed(90 + side)))
        log_ratio = (drawn - sum(known) / 2) @ change * 2 * float(RHO) / squared
        says_present, says_absent = log_ratio > CLAIMED, log_ratio < -CLAIMED
        right += int((says_present if side else says_absent).sum())
        wrong += int((says_absent if side else says_present).sum())
    guesses = Guesses(right, wrong, 2 * MAX_DRAWS - right - wrong)
    assert disproved(guesses, CLAIMED, CHANCE, float(DELTA)) == (times > 1)


def exact_counts(views: Sequence[Counted]) -> Floats:
    """Return the counts of all maps of a sequence without noise, (n,)."""
    maps = [figures_of(GRID_KIND, each, EXACT, SeededEntropy(0))[0] for each in views]
    return np.concatenate(maps).astype(np.float64)


def drawn_in_rho(views: Sequence[Counted], number: int, entropy: SeededEntropy) -> Floats:
    """Draw `number` sequences of maps with Gaussian noise, (number, n)."""

    def one(view: Counted) -> Ints:
        released = run(GRID_KIND.mechanism, view, PARAMS, RHO, entropy, {}, delta=DELTA)
        return one_count_each(released.content)[0]

    return np.array([np.concatenate([one(view) for view in views]) for _ in range(number)])
