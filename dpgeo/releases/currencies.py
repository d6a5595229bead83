"""Comparison of the two currencies of a budget, epsilon and rho, from public inputs alone.

It is made only where the currency can still be changed. It depends on the request, the declared
total and delta, and reads no data.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpgeo.budgets.models import Ledger
from dpgeo.budgets.services import most_pure
from dpgeo.core.epsilon import MICRO
from dpgeo.core.guarantees import Notion, from_units
from dpgeo.core.noise import DiscreteGaussian, DiscreteLaplace
from dpgeo.core.zcdp import USUAL_EXPONENT, delta_text, exponent_delta, nano_rho_for
from dpgeo.phrases import Phrase
from dpgeo.releases.requests import PricedRequest

USUAL_DELTA = exponent_delta(USUAL_EXPONENT)

COMPARED = {
    Notion.PURE_DP: Phrase("Epsilon is better for a budget that is spent on maps like this."),
    Notion.ZCDP: Phrase("Rho is better for a budget that is spent on maps like this."),
    None: Phrase("Epsilon and rho are alike for a budget that is spent on maps like this."),
}

CHANGE = Phrase(
    "The currency can be changed in the dataset's declaration (accounting) until the first upload "
    "is confirmed."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Margins:
    """Margins of one count, with a budget in epsilon and with one in rho."""

    epsilon: int
    rho: int

    @property
    def better(self) -> Notion | None:
        """The currency with the smaller margin; None if they are equal."""
        if self.epsilon == self.rho:
            return None
        return Notion.PURE_DP if self.epsilon < self.rho else Notion.ZCDP


@dataclass(frozen=True, slots=True, kw_only=True)
class Currencies:
    """A requested map in both currencies.

    `alone` holds the margins of this map in each currency: with the requested epsilon, and with the
    rho that amounts to this epsilon at `delta`. `maps` is how many such maps the whole budget pays
    for in its present currency, and `each` holds the margins if the budget is divided among that
    many in either currency. The margins in `each` decide which currency is better. Those of one map
    alone would mislead, because a budget in rho pays for many more maps of a small epsilon.
    """

    delta: Fraction
    maps: int
    alone: Margins
    each: Margins

    @property
    def delta_text(self) -> str:
        """Delta as text, such as "1e-9"."""
        return delta_text(self.delta)

    @property
    def better(self) -> Notion | None:
        """The currency that gives every map the smaller margin; None if the margins are equal."""
        return self.each.better

    @property
    def advice(self) -> Phrase:
        """Sentences that name the better currency and say how to change it."""
        return Phrase("{compared} {change}", compared=COMPARED[self.better], change=CHANGE)


def requests_in_both(
    request: PricedRequest, epsilon: Fraction, nano_rho: int, delta: Fraction
) -> tuple[PricedRequest, PricedRequest] | None:
    """Return a request paid with an epsilon, and the same one paid with a rho.

    If the mechanism has no Gaussian noise, the second is for the largest pure epsilon that the rho
    pays for. Returns None if either epsilon is 0.
    """
    pure = request.model_copy(update={"amount": epsilon, "delta": None})
    if Notion.ZCDP in request.definition.notions:
        if nano_rho == 0:
            return None
        rho = from_units(Notion.ZCDP, nano_rho)
        other = request.model_copy(update={"amount": rho, "delta": delta})
    else:
        other = pure.model_copy(update={"amount": most_pure(nano_rho)})
    return (pure, other) if pure.amount and other.amount else None


def shares(ledger: Ledger, maps: int, delta: Fraction) -> tuple[Fraction, int]:
    """Return the budget's total divided by the number of `maps`, as an epsilon and as nano-rho."""
    total = ledger.epsilon_of(ledger.total_units)
    rho = ledger.total_units if ledger.is_zcdp else nano_rho_for(total, delta)
    return Fraction(int(total * MICRO) // maps, MICRO), rho // maps


@dataclass(frozen=True, slots=True)
class UsualMargins:
    """Margins of one count if a budget pays for one map, and if it pays for `SEVERAL` maps."""

    bound: int
    one: Margins
    several: Margins

    @property
    def pairs(self) -> tuple[Margins, Margins]:
        """The margins of a budget for one map, then those of one for `SEVERAL` maps."""
        return self.one, self.several


SEVERAL = 12

USUAL_BOUNDS = (1, 8, 20, 55)


def usual_margins(total: Fraction, delta: Fraction) -> list[UsualMargins]:
    """Return the margins of counts of people in a grid, for each bound in USUAL_BOUNDS.

    Each contribution of a person adds 1 to a different count, so the squared L2 sensitivity is the
    contribution bound (`privacy.law`). `total` is the budget's epsilon, at least `SEVERAL`
    millionths.
    """
    nano_rho = nano_rho_for(total, delta)

    def margins(bound: int, maps: int) -> Margins:
        gaussian = DiscreteGaussian(from_units(Notion.ZCDP, max(nano_rho // maps, 1)), bound)
        laplace = DiscreteLaplace(total / maps, bound)
        return Margins(epsilon=laplace.margin(), rho=gaussian.margin())

    return [UsualMargins(each, margins(each, 1), margins(each, SEVERAL)) for each in USUAL_BOUNDS]
