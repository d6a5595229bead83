"""The laws of noise: Laplace for pure differential privacy, Gaussian for zCDP.

A Meter passes `Law.noise` the sensitivities of private counts. A forecast has no private counts, so
the other methods repeat, for each kind of counts, the sensitivities that views compute
(`privacy.counts`, `privacy.value_shares`) from public numbers alone; tests compare the forecast
with the noise that was drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpgeo.core.noise import CountNoise, DiscreteGaussian, DiscreteLaplace
from dpgeo.privacy.counts import squared_sensitivity


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """Laplace noise for a share of an epsilon, or Gaussian noise for a share of a rho.

    If `distinct` is true, distinct people are counted, so one privacy unit adds at most 1 to each
    count.
    """

    gaussian: bool = False
    distinct: bool = False

    def counts(self, amount: Fraction, bound: int) -> CountNoise:
        """Return the noise of the counts that a view returns, before any are added up.

        `amount`, an epsilon or a rho if `gaussian`, is spent on measuring them.
        """
        return self.noise(amount, bound, squared_sensitivity(bound, self.distinct))

    def sums(self, amount: Fraction, bound: int) -> CountNoise:
        """Return the noise of sums of counts, such as sums over the cells of each square.

        A person's contributions may all be in one sum. `amount`, an epsilon or a rho if `gaussian`,
        is spent on measuring the sums.
        """
        return self.noise(amount, bound, squared_sensitivity(bound, distinct=False))

    def shares(self, amount: Fraction, bound: int, steps: int) -> CountNoise:
        """Return the noise of each of the sums U and D of `privacy.value_shares`.

        The values of the measure are from 0 to `steps`.
        """
        squared = squared_sensitivity(bound, self.distinct) * steps**2
        return self.noise(amount, bound * steps, squared)

    def vectors(self, amount: Fraction, bound: int, *, columns: int, reach: int) -> CountNoise:
        """Return the noise of one column of the sums of vectors (`PrivateSums`).

        `columns` is the number of entries of a vector, and `reach` the most that one contribution
        adds to this column.
        """
        squared = columns * (bound * reach) ** 2
        return self.noise(amount, columns * bound * reach, squared)

    def noise(self, amount: Fraction, sensitivity: int, squared: int) -> CountNoise:
        """Return the noise for an L1 sensitivity or, if `gaussian`, a squared L2 sensitivity."""
        if self.gaussian:
            return DiscreteGaussian(amount, squared)
        return DiscreteLaplace(amount, sensitivity)


LAPLACE = Law()
GAUSSIAN = Law(gaussian=True)
