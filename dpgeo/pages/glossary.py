"""Glossary of this project's terms, for its page and for docs/glossary.md.

`python manage.py glossary` rewrites the document; a test compares it with this module.
"""

from __future__ import annotations

from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import override


class Term(NamedTuple):
    """A term, its meaning, and the simpler word used on pages ("" if there is none)."""

    word: Promise | str
    meaning: Promise | str
    plain: Promise | str = ""


SECTIONS: tuple[tuple[Promise | str, tuple[Term, ...]], ...] = (
    (
        _("Privacy"),
        (
            Term(
                _("privacy unit"),
                _("whose presence is hidden: a person (all of their records together) or a record"),
                _("whom it protects"),
            ),
            Term(
                _("neighbouring datasets"),
                _("two datasets that differ by one privacy unit, added or removed"),
            ),
            Term(
                _("pure differential privacy, epsilon"),
                _(
                    "no outcome is more than e^epsilon times as likely on one of two neighbouring"
                    " datasets as on the other (Dwork et al. 2006)"
                ),
            ),
            Term(
                _("right guesses in 100"),
                _(
                    "how often somebody who knows everyone else in the data, and began at "
                    "fifty-fifty, can at most be right whether one person is in them: "
                    "100 e^epsilon/(1 + e^epsilon), rounded up; up to 75 is called strong, up to "
                    "90 moderate, more weak"
                ),
            ),
            Term(
                _("household"),
                _(
                    "up to a declared number k of persons, protected together: each gets epsilon/k "
                    "or rho/k^2"
                ),
            ),
            Term(
                _("people, sightings, visits"),
                _(
                    "people are heads, each once; sightings are people added up over places or "
                    "times, in several of which somebody may count; visits are rows, by the "
                    "owner's own word"
                ),
            ),
            Term(
                _("delta"),
                _(
                    "how far a probability may exceed that bound, in approximate differential "
                    "privacy; a term of the conversion of rho, and 0 for a pure epsilon"
                ),
            ),
            Term(
                _("rho"),
                _(
                    "the parameter of zero-concentrated differential privacy, zCDP (Bun and "
                    "Steinke 2016); rhos of releases add up, and the epsilon of all is that of "
                    "their sum, at a declared delta"
                ),
            ),
            Term(
                _("geo-indistinguishability"),
                _(
                    "the same bound for positions: reports d metres apart give outcomes whose "
                    "odds differ by at most e^(epsilon d), with epsilon per metre (Andrés et al. "
                    "2013)"
                ),
            ),
            Term(
                _("level, radius"),
                _(
                    "geo-indistinguishability told by two numbers: level ln(r) within so many "
                    "metres means a factor of at most r for positions that close"
                ),
            ),
            Term(
                _("notion of privacy"),
                _(
                    "a kind of guarantee: pure differential privacy, zCDP or "
                    "geo-indistinguishability; guarantees of different kinds do not add up"
                ),
            ),
            Term(
                _("privacy budget"),
                _("the most that all releases of one dataset may spend together, ever"),
            ),
            Term(
                _("ledger, debit, refund, merger"),
                _("the append-only record of a budget, and its entries"),
            ),
            Term(
                _("plan, spend"),
                _(
                    "what a mechanism declares that it will spend, before it sees data; one "
                    "labelled line of it"
                ),
            ),
            Term(
                _("unallocated epsilon"),
                _("the part of a plan that is divided after a pilot measurement"),
            ),
            Term(
                _("pilot measurement"),
                _("a small noisy measurement that decides how the rest is spent"),
            ),
            Term(
                _("post-processing"),
                _("anything computed from a release alone; it costs nothing"),
            ),
        ),
    ),
    (
        _("Measurement"),
        (
            Term(
                _("study area"),
                _("the declared public region in which positions count"),
            ),
            Term(
                _("contribution bound (l)"),
                _("the most regions (cells, zones, pairs) to which one privacy unit adds"),
            ),
            Term(
                _("contribution bounding"),
                _(
                    "the choice of which contributions are kept where there are more: random, or "
                    "popular by a paid pilot measurement"
                ),
            ),
            Term(
                _("sensitivity"),
                _(
                    "the largest change of a measured vector between neighbouring datasets, in L1"
                    " or L2 norm"
                ),
            ),
            Term(
                _("measurement"),
                _("one noisy vector, with the distribution of its noise"),
            ),
            Term(
                _("noise scale, rate"),
                _("b of Laplace noise, and 1/b"),
            ),
            Term(
                _("margin of error"),
                _(
                    "the half-width of the interval that holds the true bounded count in 95 of "
                    "100 releases; margin for short"
                ),
                _("±"),
            ),
            Term(
                _("below threshold, suppressed"),
                _("of a count that cannot be told from zero at 95 %"),
                _("too few to tell from none"),
            ),
            Term(
                _("phase"),
                _(
                    "one of several measurements of the same map, each of other regions; the "
                    "regions of a later one may be chosen from the noisy counts of earlier ones"
                ),
            ),
            Term(
                _("measured counts"),
                _("noisy counts as they were drawn"),
                _("as counted"),
            ),
            Term(
                _("estimate, inferred counts"),
                _("counts after post-processing, by least squares or empirical Bayes"),
                _("smoothed"),
            ),
            Term(
                _("surface"),
                _(
                    "an estimate of the number of people in every cell, inferred from all noisy "
                    "counts of a release"
                ),
            ),
            Term(
                _("virtual user"),
                _(
                    "one of a declared number of pseudo-persons to whom real persons are assigned"
                    " at random"
                ),
            ),
        ),
    ),
    (
        _("Mechanisms"),
        (
            Term(
                _("uniform grid, quadtree, kd-tree, adaptive grid"),
                _("the decompositions of the literature; each has a page"),
            ),
            Term(
                _("partition, leaf, box"),
                _("one region of such a decomposition"),
                _("box, square"),
            ),
            Term(
                _("cell"),
                _("one square of a grid"),
                _("square"),
            ),
            Term(
                _("cluster"),
                _("a centre found by private k-means, with the records nearest to it"),
                _("gathering place"),
            ),
            Term(
                _("slice"),
                _("a part of time, or a value of a category, with a map of its own"),
                _("time, value"),
            ),
            Term(
                _("perturbed location"),
                _("a position after planar Laplace noise"),
                _("moved point"),
            ),
            Term(
                _("prior, posterior, remapping"),
                _(
                    "Bayes' terms, for the optimal remapping of perturbed locations "
                    "(Chatzikokolakis et al. 2017)"
                ),
            ),
            Term(
                _("deconvolution"),
                _(
                    "recovery of a density from perturbed locations by expectation maximisation "
                    "(iterative Bayesian update)"
                ),
            ),
        ),
    ),
    (
        _("Data and releases"),
        (
            Term(
                _("dataset"),
                _(
                    "what an owner declares and uploads to; in DCAT, the published releases are "
                    "its distributions"
                ),
            ),
            Term(
                _("desk, admin"),
                _(
                    "the pages on which members work with their data; the pages on which the "
                    "site is operated"
                ),
            ),
            Term(
                _("transfer"),
                _("a file that is still arriving, piece by piece"),
            ),
            Term(
                _("canonical file"),
                _("the validated Parquet file that an upload becomes"),
            ),
            Term(
                _("version of the data"),
                _("the canonical files that a release reads, fixed when it is requested"),
            ),
            Term(
                _("window"),
                _(
                    "the first and the last day whose rows a release uses; each row passes by "
                    "its own time, before contributions are bounded"
                ),
                _("days"),
            ),
            Term(
                _("series"),
                _(
                    "maps of equal periods of growing data, drawn one after another; one epsilon "
                    "can pay for all of them"
                ),
            ),
            Term(
                _("provenance"),
                _(
                    "where public geometry comes from: a named public source, or a published "
                    "release"
                ),
            ),
            Term(
                _("release"),
                _(
                    "the immutable outcome of one run of a mechanism; everything public is "
                    "computed from releases"
                ),
                _("map"),
            ),
            Term(
                _("kind"),
                _("what a release shows: a heatmap, zones, points, clusters or contours"),
            ),
            Term(
                _("draft, published, rejected, withdrawn"),
                _("the states of a release"),
            ),
            Term(
                _("place, reach"),
                _(
                    "one of a declared list, at which the rows nearest to it count, if they are "
                    "at most so many metres away"
                ),
            ),
            Term(
                _("context"),
                _(
                    "a part of time, or a value of a category, in which places are counted and "
                    "ranked by themselves"
                ),
            ),
            Term(
                _("rank interval"),
                _(
                    "the ranks that a place may have among the counts as bounded; it holds for all "
                    "places of the list at once, 95 times in 100"
                ),
                _("the ranks it may have"),
            ),
            Term(
                _("draw, commit"),
                _(
                    "the noisy values of a release, drawn once by its job; the first draw that "
                    "the database names is committed, and no later one replaces it"
                ),
            ),
            Term(
                _("blob"),
                _("the one file that holds a release exactly; all other files are made from it"),
            ),
            Term(
                _("job, worker, lease"),
                _(
                    "work in the background, such as the making of a release; the process that "
                    "does it; the time for which no other worker may do it"
                ),
            ),
            Term(
                _("reaper, sweep"),
                _(
                    "the process that offers lost jobs to the workers again; its hourly search "
                    "for unfinished work and for files that are not needed"
                ),
            ),
            Term(
                _("public time"),
                _(
                    "when API keys learn that a job has ended: the first of the times fixed at its "
                    "submission that is not before the end"
                ),
            ),
        ),
    ),
    (
        _("Planning tasks"),
        (
            Term(
                _("task region, notification radius"),
                _(
                    "where the people are notified of a task: a circle of that radius, or a "
                    "region of the map's own boxes (To et al. 2014)"
                ),
            ),
            Term(
                _("acceptance probability"),
                _("the probability that a notified person does the task"),
            ),
            Term(
                _("task success probability"),
                _("the probability that at least one does"),
            ),
        ),
    ),
)


INTRODUCTION = (
    "# Glossary\n\nOne concept has one name, here and in the code, the API and the pages. Where "
    "pages use a plainer word for readers, the last column gives it. Made from "
    "`dpgeo/pages/glossary.py` by `python manage.py glossary`.\n"
)


def markdown() -> str:
    """Return the text of docs/glossary.md, which is in English."""
    with override("en"):
        tables = [
            f"## {title}\n\n| term | meaning | on pages |\n|---|---|---|\n"
            + "".join(f"| {term.word} | {term.meaning} | {term.plain} |\n" for term in terms)
            for title, terms in SECTIONS
        ]
    return "\n".join([INTRODUCTION, *tables])
