"""Totals of all the data, paid for with a share of a request's epsilon, or of its rho.

A low contribution bound keeps the noise of counts low, but then a map says little about how much
happened in all. Three totals need far less epsilon, since each is a single number:

- people: everybody with a row in at least one counted region, each counted once;
- sightings: pairs of a person and a counted region (a cell, a zone, or a cell in a time slice),
  at most B_p per person;
- visits: rows in counted regions, at most B_v per person; a row in two zones counts twice.

Privacy argument. Let a_u and b_u be the numbers of sightings and visits of person u. Both are
functions of the person's own rows and of the counted regions, which are public. The totals are sums
over persons: of 1 for whoever has a row, of min(a_u, B_p), and of min(b_u, B_v). Adding or removing
one person adds or removes one term of each sum and leaves all other terms as they are. So the
totals have the sensitivities 1, B_p and B_v. Each person's numbers are clipped before they are
summed, and what is clipped does not depend on the rows of other people.

A request of epsilon spends the public share epsilon_t = epsilon * percent / 100 on totals. Total j
gets w_j epsilon_t, for public weights w_j that add up to 1, and discrete Laplace noise of rate w_j
epsilon_t / B_j, from `Meter.measure`. Each total is therefore (w_j epsilon_t)-differentially
private. By composition, all three together are epsilon_t-differentially private. The map gets
epsilon - epsilon_t, so the whole release is epsilon-differentially private. The three spends are
part of the release's plan, so the ledger's debit, the trace and the statement include them. (If the
totals were drawn as one vector, w_j would be a share of the same L1 budget, and the noise would be
the same.)

Under zCDP, the request has a rho, which is divided in the same way: total j gets w_j rho_t, for
rho_t = rho * percent / 100. It is a single number to which one person adds at most B_j, so its
squared sensitivity is B_j^2, and the Gaussian Meter adds discrete Gaussian noise with the parameter
s_j = B_j^2/(2 w_j rho_t). (PrivateCounts are not marked as distinct people here; the squared
sensitivity of the total of people is 1 all the same.) Each total is therefore (w_j rho_t)-zCDP.
Rhos add up like epsilons, so the three totals are rho_t-zCDP and the whole release is rho-zCDP.

The totals are measured regardless of what the map shows, and they do not influence how the map is
measured. Anything computed from them afterwards is post-processing (`postprocess.scaling`).

If the privacy unit is the record, the contribution bound discards nothing, so totals are not
offered.
"""

from __future__ import annotations

from fractions import Fraction

from dpgeo.core.errors import PrivacyError
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.spend import Spend
from dpgeo.core.totals import BoughtTotal, Totals, TotalsPlan
from dpgeo.phrases import translatable
from dpgeo.privacy.bounding import CountedRegions
from dpgeo.privacy.counts import PrivateCounts
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.view import PrivateView

PEOPLE = translatable("total of people")
SIGHTINGS = translatable("total of sightings")
VISITS = translatable("total of visits")

WEIGHTS = {
    Counting.PEOPLE: {
        PEOPLE: Fraction(1, 5),
        SIGHTINGS: Fraction(3, 5),
        VISITS: Fraction(1, 5),
    },
    Counting.VISITS: {
        PEOPLE: Fraction(1, 5),
        SIGHTINGS: Fraction(1, 5),
        VISITS: Fraction(3, 5),
    },
}
"""How the epsilon or rho for totals is divided among people, sightings and visits.

There is one division for maps of people and one for maps of visits. Its public shares add up to 1.
The total to which the map is scaled gets the most (`postprocess.scaling`).
"""


def split(
    epsilon: Fraction, plan: TotalsPlan | None, counting: Counting
) -> tuple[list[Spend], Fraction]:
    """Return the spends for the totals, and the part of `epsilon` (or of a rho) left for the
    map.
    """
    if plan is None:
        return [], epsilon
    whole = epsilon * Fraction(plan.percent, 100)
    weights = WEIGHTS[counting]
    spends = [Spend(label=label, epsilon=whole * weight) for label, weight in weights.items()]
    return spends, epsilon - whole


def measure(view: PrivateView, plan: TotalsPlan, regions: CountedRegions, meter: Meter) -> Totals:
    """Measure the totals of the counted regions once.

    Raises PrivacyError if the privacy unit is the record.
    """
    if view.unit is not Unit.PERSON:
        raise PrivacyError("Totals are bought where persons are the privacy unit.")
    private = view.totals(regions, sightings=plan.sightings, visits=plan.visits)
    if (private.people.sensitivity, private.sightings.sensitivity, private.visits.sensitivity) != (
        1,
        plan.sightings,
        plan.visits,
    ):
        raise PrivacyError("The totals were not clipped as planned.")

    def bought(label: str, counts: PrivateCounts) -> BoughtTotal:
        noise = meter.noise(label, counts)
        return BoughtTotal(count=int(meter.measure(label, counts)[0]), noise=noise)

    return Totals(
        people=bought(PEOPLE, private.people),
        sightings=bought(SIGHTINGS, private.sightings),
        visits=bought(VISITS, private.visits),
    )
