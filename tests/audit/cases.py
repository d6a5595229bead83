"""What is audited, with how many releases, and which fault has to be caught."""

from __future__ import annotations

from fractions import Fraction

from dpgeo.core.guarantees import Bounding
from dpgeo.mechanisms.registry import MECHANISMS
from tests.audit.attack import Case

GRID, TREE = Fraction(11, 10), Fraction(5, 4)

CASES = (
    Case(name="uniform-grid", key="uniform-grid", wanted=GRID, runs=45_000),
    Case(name="sparse-grid", key="sparse-grid", wanted=GRID, runs=60_000),
    Case(name="zones", key="zones", wanted=GRID, runs=45_000),
    Case(name="time-slices", key="time-slices", wanted=GRID, runs=40_000),
    Case(name="contours", key="contours", wanted=GRID, runs=45_000),
    Case(name="quadtree", key="quadtree", wanted=TREE, runs=30_000),
    Case(name="adaptive-grid", key="adaptive-grid", wanted=TREE, runs=30_000),
    Case(
        name="privtree",
        key="privtree",
        wanted=TREE,
        catch=Fraction(3, 2),
        runs=60_000,
        note="Its splits rarely reveal as much as their proof allows: that takes a path on which "
        "several noisy counts are just at the threshold.",
    ),
    Case(name="dpcube", key="dpcube", wanted=TREE, runs=20_000),
    Case(name="auto", key="auto", wanted=TREE, runs=60_000),
    Case(
        name="private-clusters",
        key="private-clusters",
        wanted=TREE,
        catch=Fraction(2),
        runs=30_000,
        note="A centre is the quotient of noisy sums, so a release shows two of the three noisy "
        "numbers that each round pays for.",
    ),
    Case(
        name="prilocation (virtual users)",
        key="prilocation",
        wanted=TREE,
        catch=Fraction(8),
        runs=12_000,
        note="Half of its epsilon goes into the places of virtual users, which are replaced within "
        "a bin: hardly any event shows what that half would allow.",
    ),
    Case(
        name="uniform-grid, popular bounding",
        key="uniform-grid",
        wanted=TREE,
        catch=Fraction(3, 2),
        runs=3_000,
        bounding=Bounding.POPULAR,
        note="Each release is counted anew by the engine, so few can be drawn.",
    ),
)

POINTS_CAUGHT, POINTS_DRAWS = GRID, 2_000_000
"""The smallest fault in perturbed points that has to be caught, and the points drawn."""

FACTORS = tuple(map(Fraction, ("1", "1.1", "1.15", "1.25", "1.5", "2")))
"""The planted factors on epsilon; 1 is no fault."""


def check_complete() -> None:
    """Raise AssertionError unless every mechanism that hides presence has a case."""
    counting = {mechanism.key for mechanism in MECHANISMS.values() if mechanism.price is None}
    missing = counting - {case.key for case in CASES}
    assert not missing, f"Add cases for {missing} to the audit."
