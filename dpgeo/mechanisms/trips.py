"""Made-up trips: trips that nobody made, with starts, ends and lengths as frequent as real ones.

Idea. Describe the trips by three tables: how many lead from each square to each other one, how they
move on from each square, and how many moves they make. Add noise to the tables, and draw trips from
the noisy tables alone: a start and an end, then a number of moves, then a path of that many moves
between the two (a Markov bridge).

Privacy argument. The squares are public. A trip follows from a person's own rows, and at most l
trips of each privacy unit are kept, chosen by the unit's own rows and the job's salt
(`engine.trip_rows`). A kept trip adds 1 to one pair of a start and an end, 1 to one number of
moves, and UNITS whole units to moves, however long it is (`privacy.trip_features`). So the L1
sensitivities of the three tables are l, l and l times UNITS, and measuring them with 45, 10 and 45
per cent of epsilon is epsilon-differentially private by composition, for the privacy unit and not
for one trip alone. Entries of squares outside the study area are set to 0 whatever the data.
Drawing trips is post-processing: the draw is a function of the noisy tables, without further
randomness (`postprocess.trip_model`).

Utility. There are n^2 pairs for n squares, so the tables need many people: some 6 s^3/epsilon for s
squares along each side, such as 3,000 people for 8 squares a side, or 10,000 for 12, at epsilon 1.
With fewer than a quarter of that, the trips would show little but noise, so the forecast refuses.
The number of people is the owner's guess, since it must not be read from the data.

References. Zhu, Li, Zhou and Yu 2017, section 12.3.2 (DPT: He, Cormode, Machanavajjhala, Procopiuc
and Srivastava 2015); Gursoy, Liu, Truex, Yu and Wei 2018 (AdaTrace). Both protect one trip.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpgeo.core import subjects
from dpgeo.core.domain import Domain
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.core.kinds import TRIPS
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.parameters import param
from dpgeo.core.released import TripsRelease
from dpgeo.core.spend import Spend
from dpgeo.core.trip_paths import UNITS, TripPaths, neighbours
from dpgeo.phrases import Phrase, translatable
from dpgeo.privacy.mechanism import Forecast, Mechanism
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.view import PrivateView
from dpgeo.spatial.grid import Grid

ENDS = translatable("starts and ends")
MOVES = translatable("moves between squares")
LENGTHS = translatable("numbers of moves")

SHARES = {ENDS: Fraction(9, 20), MOVES: Fraction(9, 20), LENGTHS: Fraction(1, 10)}
"""The shares of epsilon for the counts of starts and ends, of moves, and of numbers of moves."""

AS_DECLARED, DESTINATIONS, FOLLOWING = "as declared", "destination columns", "consecutive rows"

ENOUGH = 6
"""Made-up trips are close to the real ones from ENOUGH * cells^3/epsilon people on.

`cells` is the number of squares along a side. The factor was measured (docs/mechanisms/trips.md).
"""

TOO_FEW = Fraction(ENOUGH, 4)
"""With fewer than TOO_FEW * cells^3/epsilon people, trips would be mostly noise and are refused.

`cells` is the number of squares along a side.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Public parameters of made-up trips."""

    guessed_people: int = param(
        10_000,
        "How many people you guess there are in the data, from what is publicly known; it is "
        "published, so do not count them. With too few, trips would be noise and are refused.",
        low=1,
        high=1_000_000_000,
    )
    cells: int = param(
        8,
        "Squares along each side, between which trips lead.",
        low=4,
        high=20,
        beyond="Finer squares take more people than most data have.",
    )
    trips: str = param(
        AS_DECLARED,
        "What a trip is: a row with columns for its destination, or a person's rows one after the "
        "other. As declared: by destination if there are such columns.",
        choices=[AS_DECLARED, DESTINATIONS, FOLLOWING],
    )
    gap_minutes: int = param(
        30,
        "For consecutive rows: a trip ends where the next row is more than this many minutes "
        "later.",
        low=1,
        high=1440,
        beyond="After a day, another trip has begun.",
    )


def plan(params: Params, epsilon: Fraction) -> Sequence[Spend]:
    """Declare the measurements of starts and ends, moves, and numbers of moves."""
    return [Spend(label=label, epsilon=epsilon * share) for label, share in SHARES.items()]


def release(view: PrivateView, params: Params, meter: Meter) -> TripsRelease:
    """Measure the kept trips: their pairs of start and end, moves, and numbers of moves."""
    paths = _paths(params, view.domain)
    features = view.trip_features(paths)
    grid = paths.grid
    inside = grid.inside(view.domain.area).ravel()
    to = neighbours(grid)
    reachable = inside[:, None] & (to >= 0) & inside[to]
    noise = meter.laplace(ENDS, features.ends)
    move_noise = meter.laplace(MOVES, features.moves)
    length_noise = meter.laplace(LENGTHS, features.lengths)
    ends = meter.measure(ENDS, features.ends).reshape(grid.size, grid.size)
    moves = meter.measure(MOVES, features.moves).reshape(to.shape)
    return TripsRelease(
        grid=grid,
        gap_minutes=paths.gap_minutes,
        ends=np.where(np.logical_and.outer(inside, inside), ends, 0),
        moves=np.where(reachable, moves, 0),
        lengths=meter.measure(LENGTHS, features.lengths),
        noise=noise,
        move_noise=move_noise,
        length_noise=length_noise,
    )


def _paths(params: Params, domain: Domain) -> TripPaths:
    """Return the grid of trips, and the gap in minutes that ends a trip, or 0 if each row is one.

    Raises InvalidInput if the dataset has no trips of the kind that is asked for.
    """
    by_row = params.trips == DESTINATIONS or (params.trips == AS_DECLARED and domain.destinations)
    if by_row and not domain.destinations:
        raise InvalidInput(
            "This dataset has no columns for the destinations of trips; choose consecutive rows, "
            "or name the columns in a new dataset.",
            field="trips",
        )
    if not by_row and domain.unit is Unit.RECORD:
        raise InvalidInput(
            "This dataset protects single records, and a record would change a whole trip. Name "
            "columns for the destinations of trips in a new dataset, or declare one that protects "
            "persons.",
            field="trips",
        )
    if not by_row and not domain.time_zone:
        raise InvalidInput(
            "This dataset has no time column, by which a person's rows would be put in order; "
            "declare a dataset whose file has one, or columns for the destinations of trips.",
            field="trips",
        )
    grid = Grid.over(domain.area, params.cells)
    return TripPaths(grid=grid, gap_minutes=0 if by_row else params.gap_minutes)


def people_needed(cells: int, epsilon: Fraction, share: Fraction | int) -> int:
    """Return the number of people needed for `cells` squares along a side: share * cells^3/epsilon.

    `share` is ENOUGH or TOO_FEW.
    """
    return math.ceil(share * cells**3 / epsilon)


def forecast(params: Params, epsilon: Fraction, bound: int, domain: Domain) -> Forecast:
    """Forecast the noise of the count of a pair of start and end.

    Refuses the request if the trips would be mostly noise.

    Raises InvalidInput for trips that the dataset lacks, or if the guessed number of people is too
    small for so many squares and this epsilon.
    """
    grid = _paths(params, domain).grid
    least = people_needed(params.cells, epsilon, TOO_FEW)
    if params.guessed_people < least:
        raise InvalidInput(
            "With {people:,} people, made-up trips between so many squares would be noise: they "
            "take {least:,} at this epsilon. Take fewer squares or a larger epsilon, or show flows "
            "instead.",
            people=params.guessed_people,
            least=least,
            field="guessed_people",
        )
    enough = people_needed(params.cells, epsilon, ENOUGH)
    cautions: tuple[Phrase, ...] = ()
    if params.guessed_people < enough:
        cautions = (
            Phrase(
                "Made-up trips follow the real ones well from about {enough:,} people on; with "
                "fewer, expect the busiest ways to be right and the rest to be blurred.",
                enough=enough,
            ),
        )
    squares = int(np.count_nonzero(grid.inside(domain.area)))
    noise = DiscreteLaplace(epsilon * SHARES[ENDS], bound)
    moves = DiscreteLaplace(epsilon * SHARES[MOVES], bound * UNITS)
    return Forecast(
        region="pair of squares",
        plural="pairs of squares",
        regions=squares**2,
        noise=noise,
        ground_metres=grid.ground_cell_metres,
        cautions=cautions,
        facts=(
            Phrase(
                "There are {squares:,} squares. Trips are drawn from noisy tables: starts and ends "
                "are give or take {ends:,} trips for each pair, and moves {moves:.0f} for each "
                "square and direction.",
                squares=squares,
                ends=noise.margin(),
                moves=moves.margin() / UNITS,
            ),
        ),
    )


MECHANISM = Mechanism(
    key="trips",
    title="Made-up trips",
    summary="Trips that nobody made, with starts, ends, ways and lengths as in the data, for tools "
    "that read trips.",
    params=Params,
    plan=plan,
    release=release,
    forecast=forecast,
    kind=TRIPS,
    subjects=(subjects.MADE_UP_TRIPS,),
)
