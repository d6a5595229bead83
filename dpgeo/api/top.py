"""The busiest places of a release, with the ranks that they may have."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated

from django.http import HttpResponse
from rest_framework.request import Request

from dpgeo.api.access import request_viewer
from dpgeo.api.answers import Answer
from dpgeo.api.base import DocumentView, is_personal
from dpgeo.api.heavy_work import heavy
from dpgeo.api.openapi import operation
from dpgeo.api.queries import SlugText, parsed, read_count, schema
from dpgeo.api.range_answers import CountedKey, CountingKey
from dpgeo.api.ranges import CONFIDENCE, MEANING, drawn_release, served
from dpgeo.core.counted import counted_once
from dpgeo.core.declared import Declared, fact
from dpgeo.core.nouns import VISIT, choose_noun
from dpgeo.postprocess.top_places import RankedPlace, TopPlaces

MAX_PLACES = 1_000
USUAL = 20


class TopQuery(Declared):
    k: Annotated[
        int,
        parsed(lambda text: read_count(text, most=MAX_PLACES)),
        schema("integer", minimum=1, maximum=MAX_PLACES),
    ] = fact(
        f"How many places, from 1 to {MAX_PLACES:,}; {USUAL} if left out. It is also the number "
        "that among_top, surely_among_top and perhaps_among_top are about.",
        USUAL,
    )
    context: SlugText = fact(
        "The context to rank in, by its key such as 2-tuesday, if the release has "
        "contexts; if left out, all together.",
        None,
    )


class RankedOut(Answer):
    """A place with its noisy count and the ranks that it may have."""

    key: str
    name: str
    longitude: float
    latitude: float
    count: int = fact("The noisy count, as drawn; it may be negative.")
    margin: float = fact("Half the width of the interval of this count by itself.")
    likely: float = fact(
        "The estimate that takes back that the highest of many noisy counts are on "
        "average too high."
    )
    rank_best: int = fact("The best rank that the place may have, 1 the busiest.")
    rank_worst: int = fact("The worst rank that the place may have.")
    among_top: bool = fact("Whether the place is surely among the k busiest.")


class TopOut(Answer):
    """The busiest places by their noisy counts, after contribution bounding."""

    release: str = fact("The release's id.")
    counting: CountingKey = fact("What a place counts.")
    counted: CountedKey = fact("What a count is a number of.")
    rows: str = fact("What the publisher calls rows.")
    bound: int = fact("The contribution bound.")
    confidence: float = fact("The confidence level of each margin, and of all ranks together.")
    meaning: str
    ranks: str = fact("What the ranks are about.")
    ranked_in: str = fact("The key of the context ranked in; empty for all together.")
    k: int
    places: int = fact("The number of places on the list.")
    surely_among_top: int = fact("How many places are surely among the k busiest.")
    perhaps_among_top: int = fact("How many others may be among them.")
    joint_margin: int = fact(
        "All counts of the list are within this of the bounded ones at once, at the "
        "confidence level; the ranks follow from it."
    )
    results: list[RankedOut] = fact("The k highest noisy counts, highest first.")


def ranked_answer(place: RankedPlace, k: int) -> RankedOut:
    """Return a place, and whether even the worst rank that it may have is at most k."""
    return RankedOut(
        key=place.key,
        name=place.name,
        longitude=place.longitude,
        latitude=place.latitude,
        count=place.count,
        margin=place.margin,
        likely=place.likely,
        rank_best=place.best,
        rank_worst=place.worst,
        among_top=place.worst <= k,
    )


RANKS = (
    "Ranks of counts as bounded: at most {bound:,} of each person are in them. They hold for all "
    "places of the list at once, 95 times in 100."
)


class TopView(DocumentView):
    queries = TopQuery

    @operation(
        "release_top",
        "List the busiest places",
        TopOut,
        tag="releases",
        errors=[409, 410, 503],
    )
    @heavy
    def get(self, request: Request, release_id: str) -> HttpResponse:
        """Return the k busiest places, with their margins and the ranks that they may have.

        This spends no budget, because ranks are computed from published counts alone.
        """
        release = served(request, release_id)
        k, context = self.query.k, self.query.context or ""
        top = _top(release.pk, release.blob_sha256, context)
        surely, perhaps = top.among(k)
        counting = release.request.counting
        answer = TopOut(
            release=release.pk,
            counting=counting,
            counted=counted_once(counting),
            rows=choose_noun(release.dataset.row_noun, VISIT).many,
            bound=release.bound,
            confidence=CONFIDENCE,
            meaning=MEANING[counting],
            ranks=RANKS.format(bound=release.bound),
            ranked_in=context,
            k=k,
            places=len(top),
            surely_among_top=surely,
            perhaps_among_top=perhaps,
            joint_margin=top.joint_margin,
            results=[ranked_answer(place, k) for place in top.first(k)],
        )
        return self.answer(answer, personal=is_personal(request_viewer(request)))


@lru_cache(maxsize=8)
def _top(release_id: str, sha256: str, context: str) -> TopPlaces:
    """Return a release's ranked places in one context. The object is cached.

    A context is a time slice or a value of a category.
    """
    return TopPlaces.of(drawn_release(release_id, sha256).content, context)
