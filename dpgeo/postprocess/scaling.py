"""Scaling of a map to all sightings or visits, by noisy totals that the release paid for.

A map counts at most l contributions of each person, the contribution bound. A total counts nearly
all of them: at most B of each person, where B is far above l (`privacy.totals`). The map is scaled
by the factor

    f = T / M,

where T is the noisy total, of sightings if people are counted, otherwise of visits, and M is the
sum of all counts of the map (where a surface was inferred from several phases, the sum of that
surface, which uses all counts). Under a bound of 1, M is the number of people with any row at all,
for which the noisy total of people is used. Otherwise M is the sum of the map's own noisy counts,
which are measured independently of T. Without noise, T would never be below M, because B is at
least l; so f is at least 1. All this is post-processing of noisy figures.

What a scaled figure assumes. The bound leaves out contributions of people who have more than l.
Scaling distributes the missing contributions like the counted ones. That is exact for the whole
map, but wrong for any single place, by an amount that no measurement reveals. No interval here
includes this error, and every figure is shown with a sentence that says so (SCALED). A person's
contributions beyond B remain left out.

Intervals. T and M have independent noise with 95 % margins t and m. The factor's interval is that
of Fieller's theorem, which is exact for normal noise and also holds for a large relative error of
M. The ends of the interval are

    (T M -+ sqrt(t^2 M^2 + m^2 T^2 - t^2 m^2)) / (M^2 - m^2).

The interval is bounded only if M > m. A scaled count c f, with the margin k of c, has the interval

    c f - sqrt((f k)^2 + (c d)^2) ... c f + sqrt((f k)^2 + (c u)^2),

where d and u are the distances from f to the lower and upper end of its interval, swapped for a
negative c (Donner and Zou's combination of two intervals, 2012). Margins of Gaussian noise, as
under zCDP, are those for which both hold. Relative to their standard error, margins of Laplace
noise are wider than normal ones, so the combined margins are never too narrow.

If the noise of a total may be as large as the total itself, the total says nothing, and nothing is
scaled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.counted import Counted
from dpgeo.core.guarantees import Counting
from dpgeo.core.released import Released
from dpgeo.phrases import Phrase, translatable
from dpgeo.postprocess.joint_sums import JointSums
from dpgeo.postprocess.layers import BoxLayer, Layer
from dpgeo.postprocess.layers.slices import stacked
from dpgeo.postprocess.summary import total

Floats = NDArray[np.float64]

SCALED = translatable(
    "Scaled up to the total of all rows that the map is about. This is right only if what the map "
    "leaves out happened in the same places as what it counts, which nobody knows; the interval "
    "covers the noise alone."
)

TOTAL_TOO_NOISY = translatable(
    "Nothing is scaled: the noise of the total, ± {margin:,}, may be as large as the total itself."
)
MAP_TOO_NOISY = translatable(
    "Nothing is scaled: the noise of all counts of the map together, ± {margin:,}, may be as large "
    "as their sum."
)
LISTED = translatable(
    "Nothing is scaled: small counts are missing from this map, so its sum is not known."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """Factor that scales a release's counts, with its 95 % interval from `low` to `high`.

    `counted` says what is counted, sightings or visits, and `most` is the most that one person adds
    to the noisy total. If the counts cannot be scaled, `why` says why, and the factor and both
    ends of its interval are NaN.
    """

    counted: Counted
    most: int
    factor: float = math.nan
    low: float = math.nan
    high: float = math.nan
    why: Phrase | None = None

    @property
    def known(self) -> bool:
        """Whether the release's counts can be scaled."""
        return self.why is None

    @property
    def meaning(self) -> Phrase:
        """A sentence that says what counts scaled to the totals mean, or why none are scaled."""
        return self.why or Phrase(SCALED)

    def scale(self, value: Floats, margin: Floats) -> tuple[Floats, Floats, Floats]:
        """Return scaled values (n,), and the lower and upper ends (n,) of their 95 % intervals.

        `value` (n,) holds counts of the map, or sums of them, and `margin` (n,) their 95 % margins.
        """
        scaled, noise = value * self.factor, np.square(self.factor * margin)
        below, above = self.factor - self.low, self.high - self.factor
        down = np.where(value < 0, above, below) * value
        up = np.where(value < 0, below, above) * value
        low = scaled - np.sqrt(noise + np.square(down))
        high = scaled + np.sqrt(noise + np.square(up))
        return scaled, low, high


def array_scaling(released: Released, layers: Sequence[Layer]) -> Scaling | None:
    """Return the factor that scales a release's counts up to its totals, and its interval.

    Counts are too low where the contribution bound leaves rows out. Returns None if the release
    paid for no totals. `layers` are all layers of the release.
    """
    totals = released.totals
    if totals is None:
        return None
    people = released.counting is Counting.PEOPLE
    counted = Counted.SIGHTINGS if people else Counted.VISITS
    target = totals.each()[counted]
    most = target.most
    if target.noisy:
        why = Phrase(TOTAL_TOO_NOISY, margin=target.margin)
        return Scaling(counted=counted, most=most, why=why)
    if released.bound == 1:
        whole, margin = float(totals.people.count), float(totals.people.margin)
    else:
        measured = _measured(layers)
        if measured is None or measured.least_listed is not None:
            return Scaling(counted=counted, most=most, why=Phrase(LISTED))
        joint = JointSums.of(released)
        added = joint.total() if joint else total(measured)
        whole, margin = float(added.value), added.margin
    if whole <= margin:
        why = Phrase(MAP_TOO_NOISY, margin=math.ceil(margin))
        return Scaling(counted=counted, most=most, why=why)
    low, high = quotient(float(target.count), float(target.margin), whole, margin)
    factor = max(1.0, target.count / whole)
    return Scaling(
        counted=counted, most=most, factor=factor, low=max(1.0, low), high=max(factor, high)
    )


def quotient(top: float, top_margin: float, base: float, base_margin: float) -> tuple[float, float]:
    """Return Fieller's interval for the quotient of two independent noisy numbers.

    The margins are half-widths of 95 % intervals. `top` and `base` must each exceed its own margin.
    """
    spread = top_margin**2 * base**2 + base_margin**2 * top**2 - (top_margin * base_margin) ** 2
    root, scale = math.sqrt(spread), base**2 - base_margin**2
    return (top * base - root) / scale, (top * base + root) / scale


def _measured(layers: Sequence[Layer]) -> Layer | None:
    """Return the layer of measured counts to add up over the map, or None if there is none.

    Time slices are concatenated into one layer.
    """
    slices = [each for each in layers if isinstance(each, BoxLayer) and each.sliced]
    if slices:
        return stacked(slices)
    for layer in layers:
        if layer.kind == "measured" and layer.value is not None and layer.features.counts:
            return layer
    return None
