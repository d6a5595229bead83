"""Private clusters: a few centres with a noisy count around each.

Idea. Run k-means on noisy sums: start from centres spread evenly over the study area, and move each
centre, in a few rounds, towards the mean of the records nearest to it. Then count the records
nearest to each final centre. Only the final centres and counts are published.

Privacy argument. Positions are rounded to the cells of a public grid, and at most l positions of
each person are kept. For each cluster, a round measures the number of records nearest to its centre
and the sums of their coordinates: every record adds (1, x, y) to one cluster, with |x| and |y| at
most 1 in units of half the grid's side. One person changes these sums by at most 3 l in total, and
the noise is scaled to that (`privacy.vector_sums`); the new centres are post-processing. The last
measurement is a histogram over the regions around the final centres, which are public by then, with
sensitivity l. The first centres depend on the study area alone. So each measurement costs its
declared epsilon, and these add up to the whole epsilon.

Under zCDP. The sums of a round have the joint squared sensitivity 3 l^2, each coordinate in units
of half the grid's side (`privacy.vector_sums`), and the last counts l^2, since all positions of a
person may be nearest to one centre; so it makes no difference whether people or visits are counted.
Each measurement is zCDP for its declared rho, and these add up to the whole rho.

Utility. A count carries noise of scale l (rounds + 1)/epsilon. The error of the centre of n records
is about 3 l (rounds + 1)/(n epsilon) times half the grid's side. With few people one round is best,
since more rounds make every measurement noisier. Under zCDP, the variances are 3 l^2 (rounds +
1)/(2 rho) for the sums and l^2 (rounds + 1)/(2 rho) for the counts: noise grows with the root of
the number of rounds alone, and a round's three sums cost the root of 3 instead of 3.

References. Blum, Dwork, McSherry and Nissim 2005 (SuLQ k-means); Su, Cao, Li, Bertino and Jin 2016;
Zhu, Li, Zhou and Yu 2017 (PriLocation, step 1), whose noise on the objective protects no centre.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpgeo.core import subjects
from dpgeo.core.domain import Domain
from dpgeo.core.kinds import CLUSTERS
from dpgeo.core.parameters import param
from dpgeo.core.released import ClustersRelease
from dpgeo.core.spend import Spend
from dpgeo.phrases import translatable
from dpgeo.privacy.clustering import run_kmeans
from dpgeo.privacy.law import LAPLACE, Law
from dpgeo.privacy.mechanism import Forecast, Mechanism
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.view import PrivateView
from dpgeo.spatial.centres import spread_evenly
from dpgeo.spatial.grid import Grid

COUNTS = translatable("records around each centre")


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Public parameters of private clusters."""

    clusters: int = param(20, "How many centres to place.", low=1, high=200)
    rounds: int = param(
        3,
        "How often the centres are moved. With fewer than a few thousand people, one round is "
        "best.",
        low=1,
        high=20,
    )
    cells: int = param(
        1024,
        "Cells along each side of the grid that positions are rounded to.",
        low=4,
        high=4096,
    )


def plan(params: Params, epsilon: Fraction) -> Sequence[Spend]:
    """Declare equal parts of epsilon for every round of k-means and for the final counts."""
    part = epsilon / (params.rounds + 1)
    labels = [*_labels(params), COUNTS]
    return [Spend(label=label, epsilon=part) for label in labels]


def release(view: PrivateView, params: Params, meter: Meter) -> ClustersRelease:
    """Move the centres round by round, then count the records around them."""
    grid = Grid.over(view.domain.area, params.cells)
    counts = view.sparse_histogram(grid)
    start = spread_evenly(view.domain.area, params.clusters)
    centres = run_kmeans(meter, _labels(params), counts, grid, start)
    around = counts.nearest_counts(grid, centres)
    noise = meter.noise(COUNTS, around)
    longitude, latitude = centres.degrees
    return ClustersRelease(
        longitude=longitude,
        latitude=latitude,
        counts=meter.measure(COUNTS, around),
        noise=noise,
    )


def _labels(params: Params) -> list[str]:
    return [f"round {number}: sums of clusters" for number in range(1, params.rounds + 1)]


def forecast(
    params: Params, epsilon: Fraction, bound: int, domain: Domain, law: Law = LAPLACE
) -> Forecast:
    """Forecast the noise of a centre's count.

    Raises InvalidInput if a round's noise would not fit in 64 bits.
    """
    part = plan(params, epsilon)[-1].epsilon
    grid = Grid.over(domain.area, params.cells)
    law.vectors(part, bound, columns=3, reach=params.cells)
    side = (domain.area.ground_square_kilometres / params.clusters) ** 0.5 * 1000
    return Forecast(
        region="cluster",
        regions=params.clusters,
        noise=law.sums(part, bound),
        ground_metres=max(side, grid.ground_cell_metres),
    )


MECHANISM = Mechanism(
    key="private-clusters",
    title="Private clusters",
    summary="A few centres where people gather, each with a count of those around it.",
    params=Params,
    plan=plan,
    release=release,
    forecast=forecast,
    gaussian=True,
    kind=CLUSTERS,
    subjects=(subjects.GATHERINGS,),
)
