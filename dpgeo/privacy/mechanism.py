"""The shape of a mechanism, and the one way to run it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import dpgeo
from dpgeo.core.domain import Domain
from dpgeo.core.errors import PrivacyError
from dpgeo.core.guarantees import Bounding, Counting, Notion, Unit, guarantee
from dpgeo.core.kinds import Kind
from dpgeo.core.noise import Noise, PlanarLaplace
from dpgeo.core.released import Content, Released
from dpgeo.core.spend import Measured, Spend
from dpgeo.phrases import Phrase
from dpgeo.privacy.bounding import LOOK, Popularity, Regions, split
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.planar_laplace_sampler import Perturbed, gather
from dpgeo.privacy.positions import Shard
from dpgeo.privacy.randomness import Entropy
from dpgeo.privacy.view import PrivateView
from dpgeo.spatial.area import StudyArea


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """How noisy a release will be, from public inputs alone.

    `region` names what is counted ("cell"), `regions` how many there are at most, `noise` what
    each count carries or what moves each point, and `ground_metres` is the side of the smallest
    region on the ground. `cautions` are what whoever pays should know first, and
    `facts` are sentences that follow from what is public, such as how far apart hidden places are.
    """

    region: str
    regions: int
    noise: Noise
    ground_metres: float
    cautions: tuple[Phrase, ...] = ()
    facts: tuple[Phrase, ...] = ()
    plural: str = ""

    @property
    def region_plural(self) -> str:
        """The regions' name where there are many; `plural` gives what is no plural in s."""
        return self.plural or f"{self.region}s"

    @property
    def moves(self) -> bool:
        """Whether points are moved, rather than counts made noisy."""
        return isinstance(self.noise, PlanarLaplace)

    @property
    def margin(self) -> int | None:
        """Half the width of the 95 % interval of one count; None where there are none."""
        return None if isinstance(self.noise, PlanarLaplace) else self.noise.margin()

    @property
    def stands_out_from(self) -> int | None:
        """The smallest count that at most one empty region in a thousand reaches."""
        return None if isinstance(self.noise, PlanarLaplace) else self.noise.threshold()

    @property
    def radii(self) -> tuple[float, float] | None:
        """Metres within which half of the points, and 95 % of them, are moved."""
        if not isinstance(self.noise, PlanarLaplace):
            return None
        return self.noise.radius(0.5), self.noise.radius(0.95)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharded:
    """How a mechanism that moves points is dealt among workers.

    `move(view, params, meter, shard)` measures one share of the units, with all of the plan's
    epsilon, and `content(moved, params, domain)` works with what came out of all of them together.

    Privacy argument. Every unit is in one share, so that its reports are moved once, as they would
    be if one worker moved all: the parts' noise is independent, as is that of any two reports. A
    part that is drawn again, because nobody has seen what was drawn before, is one draw for all
    that is ever seen.
    """

    move: Callable[[PrivateView, Any, Meter, Shard], Perturbed]
    content: Callable[[Perturbed, Any, Domain], Content]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism:
    """A mechanism: public facts, a plan that sees no data, and the release itself.

    `plan(params, epsilon)` declares spends that add up to epsilon; `release(view, params, meter)`
    measures them; `forecast(params, epsilon, bound, domain)` says beforehand how noisy it will be.
    `kind` is the kind of map that comes out, by which catalogues are filtered. `notion` is what it
    promises. Where that is not pure differential privacy its cost follows from its parameters and
    the bound: `price(params, bound, area)` is the epsilon per metre of one unit's reports
    together, and raises InvalidInput for parameters that do not fit the area.
    `regions(params, domain)` is the public list on which the popularity of places is measured;
    where there is none, a person's places are chosen at random alone. `sharded` is there where
    large files may be dealt among workers.
    """

    key: str
    title: str
    summary: str
    params: type[Any]
    plan: Callable[[Any, Fraction], Sequence[Spend]]
    release: Callable[[PrivateView, Any, Meter], Content]
    forecast: Callable[[Any, Fraction, int, Domain], Forecast]
    kind: Kind = Kind.HEATMAP
    notion: Notion = Notion.PURE_DP
    price: Callable[[Any, int, StudyArea], Fraction] | None = None
    regions: Callable[[Any, Domain], Regions] | None = None
    sharded: Sharded | None = None


def checked_plan(
    mechanism: Mechanism,
    params: Any,
    epsilon: Fraction,
    bounding: Bounding = Bounding.RANDOM,
) -> Sequence[Spend]:
    """The plan, once it is known to cost epsilon exactly. Raises PrivacyError otherwise."""
    if not isinstance(epsilon, Fraction) or epsilon <= 0:
        raise PrivacyError("Epsilon must be an exact fraction above 0.", field="epsilon")
    if not isinstance(params, mechanism.params):
        raise PrivacyError(
            "These are not parameters of {key}.", key=mechanism.key, field="parameters"
        )
    if bounding is not Bounding.RANDOM and mechanism.regions is None:
        raise PrivacyError(
            "{key} chooses places at random alone.", key=mechanism.key, field="bounding"
        )
    look, rest = split(epsilon, bounding)
    plan = [*look, *mechanism.plan(params, rest)]
    total = sum((spend.epsilon for spend in plan), Fraction(0))
    if total != epsilon:
        raise PrivacyError(
            "{key} declares {total} where {epsilon} was asked.",
            key=mechanism.key,
            total=str(total),
            epsilon=str(epsilon),
        )
    return plan


def run(
    mechanism: Mechanism,
    view: PrivateView,
    params: Any,
    epsilon: Fraction,
    entropy: Entropy,
    about: Mapping[str, str],
    bounding: Bounding = Bounding.RANDOM,
) -> Released:
    """Run a mechanism once; what comes out has been paid for and may be public.

    `about` is what the publisher says of the release: public words, see `Released.about`.
    """
    meter = Meter(checked_plan(mechanism, params, epsilon, bounding), entropy)
    if bounding is Bounding.POPULAR and mechanism.regions is not None:
        regions = mechanism.regions(params, view.domain)
        popularity = Popularity(regions, meter.measure(LOOK, view.popularity(regions)))
        view = view.preferring(popularity)
    content = mechanism.release(view, params, meter)
    terms = PublicContext(view.domain, view.unit, view.counting, view.bound)
    made = _released(mechanism, terms, params, epsilon, about, meter.finish(), content)
    return dataclasses.replace(made, bounding=bounding)


@dataclass(frozen=True, slots=True)
class PublicContext:
    """What is public of a view."""

    domain: Domain
    unit: Unit
    counting: Counting
    bound: int


@dataclass(frozen=True, slots=True, eq=False)
class PerturbedShard:
    """What came out of one share of the units, and what was spent on it."""

    moved: Perturbed
    trace: tuple[Measured, ...]


def run_shard(
    mechanism: Mechanism,
    view: PrivateView,
    params: Any,
    epsilon: Fraction,
    entropy: Entropy,
    shard: Shard,
) -> PerturbedShard:
    """Run a parted mechanism once on one share of the units. Nothing of it may be public yet."""
    meter = Meter(checked_plan(mechanism, params, epsilon), entropy)
    moved = _sharded(mechanism).move(view, params, meter, shard)
    return PerturbedShard(moved, meter.finish())


def combine_shards(
    mechanism: Mechanism,
    terms: PublicContext,
    params: Any,
    epsilon: Fraction,
    about: Mapping[str, str],
    parts: Sequence[PerturbedShard],
) -> Released:
    """Put the parts of all shares together, in an order that tells nothing of them.

    Raises PrivacyError for parts of different plans.
    """
    first = parts[0]
    if any(part.trace != first.trace for part in parts):
        raise PrivacyError("Only parts of one release can be put together.")
    moved = gather(
        first.moved.noise,
        (
            (moved.longitude, moved.latitude, moved.time, moved.attributes)
            for moved in (part.moved for part in parts)
        ),
    )
    content = _sharded(mechanism).content(moved, params, terms.domain)
    return _released(mechanism, terms, params, epsilon, about, first.trace, content)


def _sharded(mechanism: Mechanism) -> Sharded:
    if mechanism.sharded is None:
        raise PrivacyError("{key} is not dealt among workers.", key=mechanism.key)
    return mechanism.sharded


def _released(
    mechanism: Mechanism,
    terms: PublicContext,
    params: Any,
    epsilon: Fraction,
    about: Mapping[str, str],
    trace: tuple[Measured, ...],
    content: Content,
) -> Released:
    return Released(
        mechanism=mechanism.key,
        parameters=dataclasses.asdict(params),
        software=f"dpgeo {dpgeo.__version__}",
        about=about,
        area=terms.domain.area,
        counting=terms.counting,
        bound=terms.bound,
        guarantee=guarantee(mechanism.notion, epsilon, terms.unit),
        trace=trace,
        content=content,
    )
