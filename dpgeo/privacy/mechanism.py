"""Interface of a mechanism, and the functions that run one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

import dpgeo
from dpgeo.core.domain import Domain
from dpgeo.core.errors import PrivacyError
from dpgeo.core.guarantees import Bounding, Counting, Notion, Unit, guarantee
from dpgeo.core.kinds import HEATMAP, Kind
from dpgeo.core.noise import Noise, PlanarLaplace
from dpgeo.core.released import Content, Released
from dpgeo.core.spend import Measured, Spend
from dpgeo.core.subjects import Subject
from dpgeo.core.totals import TotalsPlan
from dpgeo.phrases import Phrase
from dpgeo.privacy import bound_choice
from dpgeo.privacy import totals as bought_totals
from dpgeo.privacy.bounding import PILOT, CountedRegions, Popularity, Regions, split
from dpgeo.privacy.law import GAUSSIAN, LAPLACE, Law
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.randomness import Entropy
from dpgeo.privacy.view import PrivateView
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Noise to expect in a release, computed from public inputs alone.

    `region` is the noun for a counted region, such as "cell", and `plural` its plural if that is
    irregular, else empty. `regions` is the largest possible number of regions. `noise` is the noise
    of each count or point. `ground_metres` is the side of the smallest region on the ground.
    `cautions` are warnings to show before epsilon is spent, and `facts` further sentences, such as
    how well places are hidden. For averages of a measure, where noise is added to sums of
    its values in steps (`core.measures`), `records` holds the margin of a region's number of
    records, and the number of records from which a mean is shown; else it is None. If `alike` is
    true, every region is counted with this noise, whatever the data; the contribution bound is then
    advised for the average region instead of a busy one. If `divided` is true, the noisy counts
    decide which parts of the area have small regions, so most regions are larger than
    `ground_metres`. `maps` is the number of maps (such as one for each time of day) among which
    people are divided.
    """

    region: str
    regions: int
    noise: Noise
    ground_metres: float
    cautions: tuple[Phrase, ...] = ()
    facts: tuple[Phrase, ...] = ()
    plural: str = ""
    records: tuple[int, int] | None = None
    alike: bool = False
    divided: bool = False
    maps: int = 1

    @property
    def region_plural(self) -> str:
        """The plural of `region`: `plural` if that is set, else `region` with an "s" added."""
        return self.plural or f"{self.region}s"

    @property
    def moves(self) -> bool:
        """Whether the mechanism perturbs points instead of adding noise to counts."""
        return isinstance(self.noise, PlanarLaplace)

    @property
    def margin(self) -> int | None:
        """Half-width of the 95 % interval of one count, or None for perturbed points."""
        if self.records:
            return self.records[0]
        return None if isinstance(self.noise, PlanarLaplace) else self.noise.margin()

    @property
    def stands_out_from(self) -> int | None:
        """Smallest count that noise reaches in an empty region with probability at most 0.001.

        For averages, it is the number of records from which an average is shown. It is None for
        perturbed points.
        """
        if self.records:
            return self.records[1]
        return None if isinstance(self.noise, PlanarLaplace) else self.noise.threshold()

    @property
    def radii(self) -> tuple[float, float] | None:
        """Distances in metres within which noise moves 50 % and 95 % of points; None for counts."""
        if not isinstance(self.noise, PlanarLaplace):
            return None
        return self.noise.radius(0.5), self.noise.radius(0.95)


def forecast_cells(
    domain: Domain,
    cells: int,
    noise: Noise,
    *,
    region: str,
    cautions: tuple[Phrase, ...] = (),
    alike: bool = False,
    divided: bool = False,
) -> Forecast:
    """Return the forecast for counts with `noise` on a grid of `cells` along each side.

    It also holds for counts of other regions than cells, if there are at most as many of them as
    cells in the study area. `region`, `cautions`, `alike` and `divided` are fields of `Forecast`.
    """
    grid = Grid.over(domain.area, cells)
    return Forecast(
        region=region,
        regions=int(np.count_nonzero(grid.inside(domain.area))),
        noise=noise,
        ground_metres=grid.ground_cell_metres,
        cautions=cautions,
        alike=alike,
        divided=divided,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism:
    """A mechanism: its description, and the functions that plan, forecast and make a release.

    `plan(params, epsilon)` declares spends that add up to epsilon. `release(view, params, meter)`
    makes these measurements and returns the content. `forecast(params, epsilon, bound, domain)`
    predicts the noise of a release. `kind` is the kind of map, which catalogues can be filtered by.
    `subjects` are what its maps can be about (`Subject`), by which owners find the mechanism; a
    mechanism without any is offered only in the list of all mechanisms. If `by_time` is true, each
    layer of the release shows only one slice of time or of a category.

    `notion` is the privacy notion. If it is not pure differential privacy, `price(params, bound,
    area)` is the epsilon per metre for all reports of one privacy unit together; it raises
    InvalidInput for parameters that do not fit the study area.

    `regions(params, domain)` is the public list of regions for which popularity can be measured; if
    it is None, contribution bounding is always random. `counted(params, domain)` returns the public
    regions in which the map counts, and for which totals can be bought; it is None if there are
    none.

    `gaussian` says whether the mechanism also serves zero-concentrated differential privacy (zCDP).
    Then `release` makes all its measurements under either law, `plan` divides a
    rho just as it divides an epsilon, and `forecast` takes the `Law` of the noise.

    `serial` is set if the mechanism can draw the periods of a series. `serial(params, counting)`
    then says whether `release` takes a single sample of each person's contributions from the view,
    and nothing else. All that it measures is computed from that sample, and one contribution adds
    at most 1 to each measurement, so that one bound on a person's contributions to the whole series
    bounds all measurements.
    """

    key: str
    title: str
    summary: str
    params: type[Any]
    plan: Callable[[Any, Fraction], Sequence[Spend]]
    release: Callable[[PrivateView, Any, Any], Content]
    forecast: Callable[..., Forecast]
    kind: Kind = HEATMAP
    subjects: Sequence[Subject] = ()
    by_time: bool = False
    notion: Notion = Notion.PURE_DP
    gaussian: bool = False
    price: Callable[[Any, int, StudyArea], Fraction] | None = None
    regions: Callable[[Any, Domain], Regions] | None = None
    counted: Callable[[Any, Domain], CountedRegions] | None = None
    serial: Callable[[Any, Counting], bool] | None = None

    @property
    def notions(self) -> tuple[Notion, ...]:
        """The notions of privacy that the mechanism serves, its own first."""
        return (self.notion, Notion.ZCDP) if self.gaussian else (self.notion,)


def forecast(
    mechanism: Mechanism,
    params: Any,
    amount: Fraction,
    bound: int,
    domain: Domain,
    counting: Counting,
    notion: Notion = Notion.PURE_DP,
) -> Forecast:
    """Forecast the noise of a release that spends `amount`: an epsilon or, under zCDP, a rho.

    Raises PrivacyError under zCDP if the mechanism is not offered for it, or InvalidInput if the
    mechanism's own forecast does.
    """
    if notion is not Notion.ZCDP:
        return mechanism.forecast(params, amount, bound, domain)
    _check_serves(mechanism)
    distinct = counting is Counting.PEOPLE and domain.unit is Unit.PERSON
    law = Law(gaussian=True, distinct=distinct)
    return mechanism.forecast(params, amount, bound, domain, law)


def _check_serves(mechanism: Mechanism) -> None:
    if not mechanism.gaussian:
        raise PrivacyError("{key} is not offered under zCDP.", key=mechanism.key, field="mechanism")


def single_sample(params: Any, counting: Counting) -> bool:
    """Return True, as `Mechanism.serial` of a mechanism that always samples contributions once."""
    return True


def checked_plan(
    mechanism: Mechanism,
    params: Any,
    epsilon: Fraction,
    bounding: Bounding = Bounding.RANDOM,
    totals: TotalsPlan | None = None,
    counting: Counting = Counting.PEOPLE,
    delta: Fraction | None = None,
    bound_percent: int = 0,
) -> Sequence[Spend]:
    """Return the plan of a release: its spends for the bound, totals, popularity and the map.

    `bound_percent` is the share of `epsilon`, in per cent, that a private choice of the bound gets.

    With a `delta`, the release is made under zCDP: `epsilon` is a rho, which the plan divides in
    the same way. Raises PrivacyError for invalid arguments, or if the plan does not cost exactly
    `epsilon`.
    """
    if not isinstance(epsilon, Fraction) or epsilon <= 0:
        raise PrivacyError("Epsilon must be an exact fraction above 0.", field="epsilon")
    if delta is not None:
        _check_serves(mechanism)
    if not isinstance(params, mechanism.params):
        raise PrivacyError(
            "These are not parameters of {key}.", key=mechanism.key, field="parameters"
        )
    if bounding is not Bounding.RANDOM and mechanism.regions is None:
        raise PrivacyError(
            "{key} chooses places at random alone.", key=mechanism.key, field="bounding"
        )
    if totals and mechanism.counted is None:
        raise PrivacyError(
            "{key} does not count in public places.", key=mechanism.key, field="totals"
        )
    if bound_percent and mechanism.counted is None:
        raise PrivacyError(
            "{key} does not count in public places.", key=mechanism.key, field="choose_bound"
        )
    before, remaining = spends_before_map(epsilon, bounding, totals, counting, bound_percent)
    plan = [*before, *mechanism.plan(params, remaining)]
    total = sum((spend.epsilon for spend in plan), Fraction(0))
    if total != epsilon:
        raise PrivacyError(
            "{key} declares {total} where {epsilon} was asked.",
            key=mechanism.key,
            total=str(total),
            epsilon=str(epsilon),
        )
    return plan


def spends_before_map(
    epsilon: Fraction,
    bounding: Bounding,
    totals: TotalsPlan | None,
    counting: Counting,
    bound_percent: int,
) -> tuple[list[Spend], Fraction]:
    """Return the spends other than the map's, and the epsilon (or rho) left for the map."""
    choice, of_bound = bound_choice.split(epsilon, bound_percent)
    bought, rest = bought_totals.split(epsilon, totals, counting)
    pilot, of_map = split(rest - of_bound, bounding)
    return [*choice, *bought, *pilot], of_map


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBound:
    """The bound that an earlier attempt at the release drew, or None, and `keep`, which stores one.

    `keep(bound)` returns the bound to use: the one that was stored first.
    """

    drawn: int | None = None
    keep: Callable[[int], int] = lambda bound: bound


def run(
    mechanism: Mechanism,
    view: PrivateView,
    params: Any,
    epsilon: Fraction,
    entropy: Entropy,
    about: Mapping[str, str],
    bounding: Bounding = Bounding.RANDOM,
    totals: TotalsPlan | None = None,
    delta: Fraction | None = None,
    bound_percent: int = 0,
    stored: StoredBound | None = None,
) -> Released:
    """Run a mechanism once and return its release, which may be published.

    `about` is the publisher's public description of the release; see `Released.about`. `bounding`
    is the method of contribution bounding, and `totals` the plan for totals of all the data, if
    any. With a `delta`, the release is made under zCDP with Gaussian noise, and `epsilon` is a rho.
    If `bound_percent` is above 0, so many percent of epsilon pay for a private choice of the
    contribution bound, which is at most the view's (`privacy.bound_choice`). `stored` holds the
    bound that an earlier attempt at this release chose, if any; otherwise, the bound chosen now is
    stored with its `keep`.

    Privacy argument for zCDP. Rhos of measurements add up, also if a measurement is chosen after
    the answers of earlier ones (Bun and Steinke 2016, lemma 2.3), so every argument by which
    epsilons add up holds for rhos: of a map and its totals, and of a pilot that decides which
    contributions are kept. What differs is the noise of each measurement, which the meter computes
    from the squared sensitivity of private counts.
    """
    plan = checked_plan(
        mechanism, params, epsilon, bounding, totals, view.counting, delta, bound_percent
    )
    meter = Meter(plan, entropy, LAPLACE if delta is None else GAUSSIAN)
    if bound_percent and mechanism.counted:
        counted = mechanism.counted(params, view.domain)
        view = _with_chosen_bound(view, counted, meter, stored or StoredBound())
    bought = None
    if totals and mechanism.counted:
        counted = mechanism.counted(params, view.domain)
        bought = bought_totals.measure(view, totals, counted, meter)
    if bounding is Bounding.POPULAR and mechanism.regions is not None:
        regions = mechanism.regions(params, view.domain)
        popularity = Popularity(regions, meter.measure(PILOT, view.popularity(regions)))
        view = view.preferring(popularity)
    content = mechanism.release(view, params, meter)
    context = PublicContext(view.domain, view.unit, view.counting, view.bound)
    trace = meter.finish()
    released = _released(mechanism, context, params, epsilon, about, trace, content, delta)
    return dataclasses.replace(released, bounding=bounding, totals=bought)


def _with_chosen_bound(
    view: PrivateView, regions: CountedRegions, meter: Meter, stored: StoredBound
) -> PrivateView:
    if view.unit is not Unit.PERSON:
        raise PrivacyError("A bound is chosen where persons are the privacy unit.")
    contributions = view.contributions(regions, view.bound)
    bound = meter.choose_bound(bound_choice.BOUND, contributions, stored.drawn, stored.keep)
    return view.with_bound(bound)


@dataclass(frozen=True, slots=True)
class PublicContext:
    """The public properties of a private view, for use after the view itself is discarded."""

    domain: Domain
    unit: Unit
    counting: Counting
    bound: int


def _released(
    mechanism: Mechanism,
    context: PublicContext,
    params: Any,
    epsilon: Fraction,
    about: Mapping[str, str],
    trace: tuple[Measured, ...],
    content: Content,
    delta: Fraction | None = None,
) -> Released:
    notion = mechanism.notion if delta is None else Notion.ZCDP
    return Released(
        mechanism=mechanism.key,
        parameters=dataclasses.asdict(params),
        software=f"dpgeo {dpgeo.__version__}",
        about=about,
        area=context.domain.area,
        counting=context.counting,
        bound=context.bound,
        guarantee=guarantee(notion, epsilon, context.unit, delta),
        trace=trace,
        content=content,
    )
