"""Wording of privacy statements, in one place for review."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from dpgeo.artefacts.statement_schema import Proof
from dpgeo.core.counted import Counted
from dpgeo.core.guarantees import Bounding, Counting, Notion, Unit
from dpgeo.phrases import translatable

COUNTING = {
    Counting.PEOPLE: "Distinct people: a person counts once in a {one}, however often they were "
    "there.",
    Counting.VISITS: "Visits: every record counts, up to the contribution bound.",
}

UNIT = {
    Unit.PERSON: "A person: all rows of one person together.",
    Unit.RECORD: "A record: one row. Who has several rows is protected row by row.",
}

PURE_DP = "P[M(D) ∈ S] ≤ e^ε · P[M(D') ∈ S] for all neighbouring D, D' and all sets S of outputs"

ZCDP = (
    "D_a(M(D) || M(D')) ≤ a · rho for all neighbouring D, D' and all a > 1, D_a being the Rényi "
    "divergence of order a; hence P[M(D) ∈ S] ≤ e^ε · P[M(D') ∈ S] + δ for all sets S of outputs"
)

GEO_IND = (
    "P[M(x) ∈ S] ≤ e^(ε · Σ (d(x_i, x'_i) + {snapping:g})/n) · P[M(x') ∈ S] for the n reports x, "
    "x' of one unit, the sum over those with x_i ≠ x'_i, d in metres along the surface of the "
    "earth, and all sets S of outputs"
)

GEO_NEIGHBOURS = {
    Unit.PERSON: "Two datasets are compared that differ in where the reports of one person were "
    "made, not in how many there are, nor in what else is published of them.",
    Unit.RECORD: "Two datasets are compared that differ in where one report was made, not in what "
    "else is published of it.",
}

GEO_NEIGHBOURS_SYMBOLS = "D ~ D' ⇔ D' is D with the positions x of one unit replaced by as many x'"

NEIGHBOURS = {
    Unit.PERSON: "Two datasets are neighbours when one is the other with all rows of one person "
    "added or removed.",
    Unit.RECORD: "Two datasets are neighbours when one is the other with one row added or removed.",
}

NEIGHBOURS_SYMBOLS = "D ~ D' ⇔ D' = D ⊎ r(u) or D = D' ⊎ r(u) for the rows r(u) of one unit u"

DATASET_TOTAL = (
    "The most that will ever be spent on these people, by this release and all others of the "
    "dataset together, as promised when this release was requested."
)

DISCRETE_LAPLACE = "P(k) = (1 - a)/(1 + a) · a^|k| for whole k, a = exp(-epsilon/sensitivity)"

PLANAR_LAPLACE = (
    "proportional to exp(-rate · d) at d metres along a sphere of 6,371,008.8 m; positions are "
    "snapped to a public grid before and after, and brought into the study area by a map of the "
    "outcome alone"
)

SNAPPED = (
    "Positions as they were reported: two that are d metres apart are at most d + {metres:g} m "
    "apart once they are snapped, and the guarantee holds for that distance."
)

WAIVED = "Charged to the budget and not drawn: the mechanism had no use for it."

OUTSIDE = (
    "Cells that do not touch the study area hold 0: that nobody can be there is publicly known."
)

SPLITS = (
    "Drawn to decide where boxes are cut. The decisions are published, the noisy counts that they "
    "were taken on are not."
)

BOUND_CHOICE = (
    "The contribution bound was chosen from the data, with noise (exponential mechanism): likely "
    "are bounds that about nine people in ten do not exceed. It is {bound}, which is published."
)

CHOICES = (
    "Drawn to put a public place in the stead of each kept one, nearer places being likelier "
    "(exponential mechanism). The places chosen are published, those they stand for are not."
)

TOTALS = {
    Counted.PEOPLE: "People with a row in a counted place, each once.",
    Counted.SIGHTINGS: (
        "People added up over all places and times in which they were counted, at most {most:,} "
        "times each."
    ),
    Counted.VISITS: (
        "All {rows} in counted places, at most {most:,} of each person; counted again for each "
        "further zone that contains it."
    ),
}
"""Sentences that say what a release's totals count: people, sightings or visits."""

TOTALS_STEP = (
    "Totals of all rows that the map is about: measured beside it, with a share of the cost and "
    "noise of their own. The counts in the files are not scaled to them."
)

PICTURE = (
    "The files hold every value as it was drawn or inferred, negative ones included. The picture "
    "on the map is rounded to steps of"
)


def odds_factor(epsilon: Fraction) -> float | None:
    """Return e^epsilon rounded up to a float, or None if it is too large for a float."""
    if epsilon >= 700:
        return None
    exact = _exponential(epsilon)
    nearest = float(exact)
    return nearest if Decimal(nearest) >= exact else math.nextafter(nearest, math.inf)


def format_odds(epsilon: Fraction) -> str:
    """Format e^epsilon with three digits, rounded up, such as "2.72", "22,100" or "1.98e434"."""
    context = Context(prec=3, rounding=ROUND_CEILING)
    # Round only once, from many digits, because rounding up twice can give a result that is too
    # large.
    rounded = context.plus(_exponential(epsilon))
    if rounded >= 10**9:
        return f"{rounded:.2e}".replace("e+", "e")
    return f"{rounded:,f}"


def _exponential(epsilon: Fraction) -> Decimal:
    """Compute e^epsilon to 60 digits."""
    digits = Context(prec=60)
    return digits.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator)).exp(digits)


@dataclass(frozen=True, slots=True)
class RegionWords:
    """Words for the regions in which people are counted, and sentences that depend on them.

    `of_record` says to how many regions one record adds, and `of_empty` says which empty regions
    pass the threshold. `bounded` stands for "records" in "adds to at most 3 records": what
    the contribution bound limits if visits are counted.
    """

    one: str
    many: str
    of_record: str
    of_empty: str
    bounded: str = "records"


CELLS = RegionWords(
    "cell",
    "cells",
    "One record adds 1 to one cell.",
    "at most one empty place in a thousand",
)

CHOICE = {
    Bounding.RANDOM: translatable("at random"),
    Bounding.POPULAR: translatable(
        "those in the most popular places first, by noisy counts of all places that a tenth of "
        "epsilon paid for"
    ),
}
"""Phrases that say which contributions are kept if a person has more than the bound."""


def bound(
    unit: Unit,
    counting: Counting,
    limit: int,
    bounding: Bounding = Bounding.RANDOM,
    regions: RegionWords = CELLS,
) -> str:
    """Return a sentence that explains the contribution bound.

    `limit` is the bound. `bounding` says which contributions of a person are kept, and `regions`
    are the words for the counted regions.
    """
    if unit is Unit.RECORD:
        return regions.of_record
    things = f"distinct {regions.many}" if counting is Counting.PEOPLE else regions.bounded
    return (
        f"One person adds to at most {limit} {things}; where there are more, {limit} are kept, "
        f"{CHOICE[bounding]}."
    )


def not_protected(unit: Unit, notion: Notion = Notion.PURE_DP) -> list[str]:
    """Return sentences on what a guarantee of this privacy notion does not hide."""
    visible = [
        "That reports were made, and how many in all: who knows that a report can only be "
        "somebody's learns that they are in the data.",
        "Movements much longer than the stated radius: the odds they change grow with the metres.",
    ]
    facts = visible if notion is Notion.GEO_IND else []
    facts += [
        "That this dataset exists, who publishes it, its study area and its description.",
        "Facts about groups and places: a crowded square looks crowded, with or without any one "
        "person.",
        "What others know from elsewhere, and what they can work out from it.",
        "Other releases from the same data: each adds its own epsilon, up to the dataset's total.",
        "Other datasets about the same people that do not share this budget: theirs comes on top.",
    ]
    if unit is Unit.PERSON:
        facts.append(
            "What several identifiers of one human being reveal together: a person here is one "
            "identifier in the data, such as a card or a device, and each is protected by itself."
        )
    if unit is Unit.RECORD:
        facts.insert(
            0,
            "People with several records: for somebody with k records the odds can change by the "
            "k-th power of the factor.",
        )
    return facts


def known_limits(
    counting: Counting,
    limit: int,
    notion: Notion = Notion.PURE_DP,
    regions: RegionWords = CELLS,
) -> list[str]:
    """Return sentences on the limits of counts or, for geo-indistinguishability, of points.

    `limit` is the contribution bound, and `regions` are the words for the counted regions.
    """
    if notion is Notion.GEO_IND:
        return _limits_of_points(limit)
    things = regions.many if counting is Counting.PEOPLE else regions.bounded
    return [
        f"Values estimate the bounded counts, in which nobody adds more than {limit} {things}. "
        "Where people have more, true counts are higher. This bias is in no margin.",
        f"Counts below the threshold do not stand out from noise: {regions.of_empty} reaches it.",
        "Negative counts are noise and are kept, so that sums over many cells stay right.",
        "Positions outside the study area, and rows that could not be read, are not counted.",
        "Errors of the data themselves, such as people who are missing from it, are in no margin.",
    ]


def _limits_of_points(limit: int) -> list[str]:
    return [
        f"Nobody has more than {limit} reports here; of those who have more, at most {limit} are "
        "kept at random, whatever their places. This bias is in no margin.",
        "Points that the noise carried out of the study area were brought back to its edge, which "
        "therefore holds more of them than of reports.",
        "The density is what most likely lies behind the points. Small features are smoothed or "
        "sharpened at random, and its margins do not show by how much.",
        "Times, where they are published, are protected by nothing but their rounding.",
        "Positions outside the study area, and rows that could not be read, are left out.",
        "Errors of the data themselves, such as people who are missing from it, are in no margin.",
    ]


def proof(mechanism: str, notion: Notion = Notion.PURE_DP) -> Proof:
    """Return a short argument for why the guarantee holds, and where to find the full proof."""
    if notion is Notion.GEO_IND:
        return {
            "argument": (
                "Each report is moved with a density that depends on nothing but the distance, the "
                "same around every point of the sphere. By the triangle inequality the log-odds of "
                "any outcome change by at most epsilon times the distance of two reports as they "
                "are snapped, which is that of the places reported and 1.5 steps of the first "
                "grid at most; reports are moved independently, so that these add up. Snapping, "
                "bringing points into the area, sorting them and recovering the density use the "
                "outcome alone. What the finite precision of numbers costs is taken off the rate."
            ),
            "references": (
                "Andres, Bordenabe, Chatzikokolakis and Palamidessi 2013 (geo-indistinguishability)"
                "; Mironov 2012 (finite precision)."
            ),
            "where": f'The heading "Privacy argument" in the source of the mechanism {mechanism}.',
        }
    if notion is Notion.ZCDP:
        return {
            "argument": (
                "Contributions are bounded before counting, so that the changes that one unit "
                "makes to the counts have squares that add up to at most the stated figure (L2). "
                "Discrete Gaussian noise of that figure over 2 rho makes each measurement rho-zCDP "
                "for its own rho; the rhos of all measurements add up; whatever follows uses "
                "measured values alone and costs nothing. The epsilon follows from the whole rho "
                "and delta; epsilons are not added."
            ),
            "references": (
                "Bun and Steinke 2016 (zCDP, composition, groups); Canonne, Kamath and Steinke "
                "2020 (discrete Gaussian, epsilon at a delta)."
            ),
            "where": f'The heading "Privacy argument" in the source of the mechanism {mechanism}.',
        }
    return {
        "argument": (
            "Contributions are bounded before counting, so that one unit changes the counts by at "
            "most the stated sensitivity in total (L1). Discrete Laplace noise of that "
            "sensitivity makes each measurement epsilon-differentially private for its own "
            "epsilon; the epsilons of all measurements add up; whatever follows uses measured "
            "values alone and costs nothing."
        ),
        "references": (
            "Dwork, McSherry, Nissim and Smith 2006 (sensitivity, composition); Ghosh, "
            "Roughgarden and Sundararajan 2009 (discrete Laplace)."
        ),
        "where": f'The heading "Privacy argument" in the source of the mechanism {mechanism}.',
    }


PRODUCT = {
    "Summary statistics": "To read, compare and add up how much is where, each with its margin; "
    "not to learn anything about any one {unit}.",
    "Dataset": "To study where reports were made, no finer than the distance they were moved by; "
    "not to learn where any one report was made.",
    "Synthetic data": "To try out analyses on invented people at real places, and to count places; "
    "not to learn anything about any one {unit}.",
}
"""Intended use of each type of data product; the types are terms of the Deployments Registry."""

UNITS_IN_TOTALS = (
    "Stated roughly, as the noisy total of people under totals, which are part of the cost."
)

NUMBER_OF_UNITS = {
    Notion.PURE_DP: "Not stated: how many {unit}s are in the data would tell whether one of them "
    "is.",
    Notion.ZCDP: "Not stated: how many {unit}s are in the data would tell whether one of them is.",
    Notion.GEO_IND: "Not stated beyond what is told under not_protected, for the number of points "
    "is published.",
}

ACTORS = (
    "The people in the data have to trust the publisher with where they were.",
    "The publisher and whoever runs the server for it hold the uploaded file and draw the noise. "
    "They are trusted to keep the file, and whatever follows from it unprotected, to themselves.",
    "Readers of this release, anybody at all, are not trusted: the guarantee holds whatever they "
    "know from elsewhere, of everybody else in the data too, whatever they compute, and if they "
    "work together.",
)

ONE_RELEASE = (
    "One release: noise was drawn once, and nothing is added or changed later. Other releases may "
    "be drawn from the same data; all together spend no more than the dataset's total, which does "
    "not renew with time."
)

STATIC = (
    "Static: rows of uploaded files, as they were when the release was requested. What is uploaded "
    "later is not in this release."
)

WINDOW = (
    "Only rows from {first} to {last} are used, both days included, in the time zone {zone}. Each "
    "row is used or left out by its own time, before anything is limited, counted or moved. The "
    "days are the publisher's choice."
)

HOUSEHOLD = (
    "Households of up to {people} people are protected as one person would be at the epsilon "
    "stated here. guarantee is that of each person. It is smaller, so the noise is larger: what is "
    "lost by {people} people is bounded by {times} times the loss of one. Of all releases of the "
    "dataset together, a household loses up to {times} times what dataset_guarantee states."
)

NON_INTERACTIVE = (
    "Non-interactive: nobody asks the data anything. Maps, files and answers about areas are "
    "worked out from what is published."
)

PREPARATION = (
    "Rows that cannot be read or lie outside the study area are left out, each by itself, by what "
    "was declared beforehand.",
    "What one {unit} adds is limited before anything is counted or moved, as the contribution "
    "bound says.",
    "Nothing is tuned on the data for free: what a mechanism learns from them to set itself up is "
    "among the spends, and paid for like the rest.",
    "Mechanism, parameters and epsilon are the publisher's choice. What the publisher knows of its "
    "own data, and lets show in that choice, is not accounted for.",
)

DEPLOYMENT = (
    "Central: the publisher holds the data and is trusted with them; whoever reads the release "
    "need not be trusted."
)

ACCOUNTING = (
    "Basic composition: the epsilons of all measurements of this release add up to its own, and "
    "those of all releases from these people to the dataset's total. Each is debited from one "
    "ledger before anything is drawn, and what the ledger does not hold is refused."
)

RHO_ACCOUNTING = (
    "Composition of zero-concentrated differential privacy: the rhos of all measurements of this "
    "release add up to its own, and those of all releases from these people to the dataset's "
    "total; a release with a pure epsilon counts there as epsilon squared over two. Each is "
    "debited from one ledger before anything is drawn, and what the ledger does not hold is "
    "refused. Epsilons are those of a rho at the declared delta, and are never added."
)

RHO_RATIONALE = (
    "Rho is paid for where one unit touches many counts: Gaussian noise grows with the square root "
    "of their number, and the rhos of many maps add up to a smaller epsilon than their epsilons.",
    "Delta is at most a tenth of one over the publicly declared population. It is a term of the "
    "conversion, and no chance that everything is revealed.",
)

DISCRETE_GAUSSIAN = "P(k) proportional to exp(-k^2/(2 s)), s = squared sensitivity/(2 rho)"

NOISE_SOURCE = (
    "Whole-number noise by exact arithmetic, without floating point, from a ChaCha20 keystream "
    "whose keys come from the operating system. No seed can be set."
)

POINTS_NOISE_SOURCE = (
    "Floating-point numbers whose rounding is bounded and taken off the rate beforehand, from a "
    "ChaCha20 keystream whose keys come from the operating system; no distance is out of reach. "
    "No seed can be set."
)

POINTS_RATIONALE = (
    "Pure guarantees (delta 0) need no small probability of failure to be explained.",
    "Distances are metres on the ground everywhere: noise is drawn on the sphere, at a rate that "
    "holds for the ellipsoid too.",
    "A level within a radius can be told to people; epsilon per metre holds at any distance. "
    "Snapping adds less than a hundredth of the level, which the guarantee states.",
)

SECURITY = (
    "Exact totals, extents, row errors and run times are shown to members of the publisher alone. "
    "Sizes, names and times of public answers follow from released values."
)

RATIONALE = (
    "Pure guarantees (delta 0) need no small probability of failure to be explained.",
    "The bound on contributions keeps the noise of every count the same for everybody, at the "
    "price of a bias that is stated under known limits.",
    "Whole-number noise leaves no trace of floating-point rounding that could give counts away.",
)

DOMAIN = (
    "Positions and times within the declared study area. The study area, the columns and the "
    "parameters are public choices, fixed before anything was drawn from the data; their publisher "
    "may have seen the data by then."
)
