"""Audit of series: an attack on whole sequences of maps by somebody who sees all maps.

The attacker knows everything but whether one person is in the data, and guesses only on sequences
in which each number is as far to one side as the person could move it. These are the events on
which the claim is tight. With dpgeo's own handling of the state, the claim is not disproved; with a
planted fault in the state, it is. Counting, bounding and noise are done by dpgeo's own code.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from dpgeo.core.domain import Domain
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.released import GridRelease
from dpgeo.engine.series_view import Allowances, SeriesView
from dpgeo.mechanisms import uniform_grid
from dpgeo.privacy.mechanism import run
from dpgeo.spatial.grid import Grid
from tests.audit.bounds import Guesses, disproved, least_epsilon
from tests.audit.datasets import Counted
from tests.audit.guessing import Rule, play
from tests.randomness import SeededEntropy
from tests.statistical.bounds import EFFORT, seed
from tests.unit.engine.canonical import AREA, Row, centre, write

pytestmark = pytest.mark.statistical

Floats = NDArray[np.float64]

EPSILON, ALLOWANCE = Fraction(2), 4
PARAMS = uniform_grid.Params(cells=2)
GRID = Grid.over(AREA, PARAMS.cells)

PERSON = 99
DIGEST = (3).to_bytes(8) + PERSON.to_bytes(8)

CHANCE = 1e-9
"""Probability that a claim that holds is disproved."""

MOST = 2000 * EFFORT


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One map of a sequence, with the index of the earlier map whose state it reads, or None.

    If `erased`, the person is erased when the map is drawn. If `forgotten`, the person is missing
    from the state that is read.
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
"""For each fault, the correct steps and the steps with the fault."""


def rows_of_period(*, person: bool) -> list[Row]:
    """Return rows of three people and, with `person`, six rows of one more."""
    x, y = centre(GRID, 0, 0)
    others: list[Row] = [(who, x, y, who) for who in range(3)]
    return others + [(PERSON, x, y, 10 + number) for number in range(6 if person else 0)]


def copy_to(target: Path, source: Path) -> None:
    shutil.copy(source, target)


def views_of(steps: Sequence[Step], folder: Path, *, each: int, person: bool) -> list[Counted]:
    """Count the maps of a sequence one after another; return a view of each."""
    views: list[Counted] = []
    path = write(folder / "rows.parquet", rows_of_period(person=person))
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
            domain=Domain(AREA),
            unit=Unit.PERSON,
            counting=Counting.VISITS,
            bound=ALLOWANCE,
            salt=bytes([step.salt] * 16),
            threads=1,
        )
        views.append(Counted(view))
        views[-1].histogram(GRID)
    return views


class Sequences:
    """Sequences drawn with and without the person, and the exact counts behind them."""

    def __init__(self, steps: Sequence[Step], folder: Path, *, each: int, first_seed: int) -> None:
        self._views = []
        for side in (0, 1):
            own = folder / str(side)
            own.mkdir(parents=True)
            self._views.append(views_of(steps, own, each=each, person=bool(side)))
        self._entropy = [SeededEntropy(seed(first_seed + side)) for side in (0, 1)]

    def exact(self, side: int) -> Floats:
        """Return the exact counts of all maps of a sequence, (n,)."""
        counts = [view.histogram(GRID)._read_by_meter().ravel() for view in self._views[side]]
        return np.concatenate(counts).astype(np.float64)

    def draw(self, side: int, number: int) -> Floats:
        """Return the noisy counts of `number` sequences, (number, n)."""
        return np.array([self._sequence(side) for _ in range(number)])

    def _sequence(self, side: int) -> Floats:
        maps = []
        for view in self._views[side]:
            drawn = run(
                uniform_grid.MECHANISM, view, PARAMS, EPSILON, self._entropy[side], {}
            ).content
            assert isinstance(drawn, GridRelease)
            maps.append(drawn.counts.ravel())
        return np.concatenate(maps).astype(np.float64)

    @property
    def moved(self) -> float:
        """How much the person changes the counts of all maps together."""
        return float(np.abs(self.exact(1) - self.exact(0)).sum())

    def rule(self) -> Rule:
        """Return the rule that guesses only if every number exceeds what a person can change."""
        without, within = self.exact(0), self.exact(1)

        def score(sequences: Floats) -> Floats:
            distances = np.abs(sequences - without) - np.abs(sequences - within)
            return np.asarray(distances.sum(axis=1))

        return Rule("all numbers", score, -self.moved, self.moved, promise=0.0)

    def play(self, rule: Rule, coin: int) -> Guesses:
        """Guess for many sequences whether they include the person; `coin` seeds the choice."""
        return play(
            self.draw,
            rule,
            claim=float(EPSILON),
            most=MOST,
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
    """The claim is not disproved, and the lower bound on epsilon shows that the attack works."""
    sequences = Sequences(BUILT, tmp_path, each=each, first_seed=70)
    assert sequences.moved == ALLOWANCE
    guesses = sequences.play(sequences.rule(), 63)
    assert not disproved(guesses, float(EPSILON), CHANCE)
    assert least_epsilon(guesses, CHANCE) > 0.6
