"""What is audited, with how many releases, and which fault has to be caught."""

from __future__ import annotations

from fractions import Fraction

from dpgeo.core.guarantees import Bounding
from dpgeo.mechanisms.registry import MECHANISMS
from tests.audit.attack import Case

GRID, TREE = Fraction(11, 10), Fraction(5, 4)

CASES = (
    Case(name="uniform-grid", key="uniform-grid", catch=GRID, runs=30_000),
    Case(name="sparse-grid", key="sparse-grid", catch=GRID, runs=30_000),
    Case(name="zones", key="zones", catch=GRID, runs=30_000),
    Case(name="time-slices", key="time-slices", catch=GRID, runs=30_000),
    Case(name="contours", key="contours", catch=GRID, runs=30_000),
    Case(name="quadtree", key="quadtree", catch=TREE, runs=40_000),
    Case(name="adaptive-grid", key="adaptive-grid", catch=TREE, runs=40_000),
    Case(name="privtree", key="privtree", catch=TREE, runs=60_000),
    Case(name="dpcube", key="dpcube", catch=TREE, runs=24_000),
    Case(name="auto", key="auto", catch=TREE, runs=40_000),
    Case(name="private-clusters", key="private-clusters", catch=TREE, runs=30_000),
    Case(name="prilocation (virtual users)", key="prilocation", catch=Fraction(2), runs=16_000),
    Case(
        name="uniform-grid, popular bounding",
        key="uniform-grid",
        catch=TREE,
        runs=4_000,
        bounding=Bounding.POPULAR,
    ),
    Case(
        name="zones, popular bounding",
        key="zones",
        catch=TREE,
        runs=4_000,
        bounding=Bounding.POPULAR,
    ),
)

POINTS_CAUGHT, POINTS_DRAWS = GRID, 8_000_000
"""The smallest fault in perturbed points that has to be caught, and the points drawn."""

FACTORS = tuple(map(Fraction, ("1", "1.1", "1.15", "1.25", "1.5", "2")))
"""The planted factors on epsilon; 1 is no fault."""


def check_complete() -> None:
    """Raise AssertionError unless every mechanism that hides presence has a case."""
    counting = {mechanism.key for mechanism in MECHANISMS.values() if mechanism.price is None}
    missing = counting - {case.key for case in CASES}
    assert not missing, f"Add cases for {missing} to the audit."
