"""The busiest places of a release, with the ranks that they may have."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from dpgeo.api.access import viewer_of
from dpgeo.api.base import DocumentView, is_personal
from dpgeo.api.documents import Document
from dpgeo.api.heavy_work import heavy
from dpgeo.api.openapi import operation
from dpgeo.api.queries import Query, read_count, read_slug
from dpgeo.api.ranges import CONFIDENCE, MEANING, RELEASE_ID, drawn_release, served
from dpgeo.core.counted import Counted, counted_once
from dpgeo.core.guarantees import Counting
from dpgeo.core.nouns import VISIT, noun_of
from dpgeo.postprocess.top_places import RankedPlace, TopPlaces

MOST = 1_000
USUAL = 20

K = Query(
    name="k",
    description=f"How many places, from 1 to {MOST:,}; {USUAL} if left out. It is also the number "
    "that among_top, surely_among_top and perhaps_among_top are about.",
    read=lambda text: read_count(text, most=MOST),
    schema={"type": "integer", "minimum": 1, "maximum": MOST, "default": USUAL},
    default=USUAL,
)

CONTEXT = Query(
    name="context",
    description="The context to rank in, by its key such as 2-tuesday, if the release has "
    "contexts; if left out, all together.",
    read=read_slug,
    default="",
)


class Ranked(NamedTuple):
    """A place, together with the k of the requested "k busiest places"."""

    place: RankedPlace
    k: int


class RankedSerializer(Document):
    """A place with its noisy count and the ranks that it may have."""

    key = serializers.CharField(source="place.key")
    name = serializers.CharField(source="place.name")
    longitude = serializers.FloatField(source="place.longitude")
    latitude = serializers.FloatField(source="place.latitude")
    count = serializers.IntegerField(
        source="place.count", help_text="The noisy count, as drawn; it may be negative."
    )
    margin = serializers.FloatField(
        source="place.margin", help_text="Half the width of the interval of this count by itself."
    )
    likely = serializers.FloatField(
        source="place.likely",
        help_text="The estimate that takes back that the highest of many noisy counts are on "
        "average too high.",
    )
    rank_best = serializers.IntegerField(
        source="place.best", help_text="The best rank that the place may have, 1 the busiest."
    )
    rank_worst = serializers.IntegerField(
        source="place.worst", help_text="The worst rank that the place may have."
    )
    among_top = serializers.BooleanField(
        help_text="Whether the place is surely among the k busiest."
    )

    def get_among_top(self, ranked: Ranked) -> bool:
        """Return whether even the worst rank that the place may have is at most k."""
        return ranked.place.worst <= ranked.k


@dataclass(frozen=True, slots=True, kw_only=True)
class TopAnswer:
    """The ranked places in one response, with the facts that hold for all of them."""

    release: str
    counting: str
    counted: str
    rows: str
    bound: int
    confidence: float
    meaning: str
    ranks: str
    ranked_in: str
    k: int
    places: int
    surely: int
    perhaps: int
    joint_margin: int
    results: list[Ranked]


class TopSerializer(Document):
    """The busiest places by their noisy counts, after contribution bounding."""

    release = serializers.CharField(help_text="The release's id.")
    counting = serializers.ChoiceField(
        choices=[each.value for each in Counting], help_text="What a place counts."
    )
    counted = serializers.ChoiceField(
        choices=[each.value for each in Counted], help_text="What a count is a number of."
    )
    rows = serializers.CharField(help_text="What the publisher calls rows.")
    bound = serializers.IntegerField(help_text="The contribution bound.")
    confidence = serializers.FloatField(
        help_text="The confidence level of each margin, and of all ranks together."
    )
    meaning = serializers.CharField()
    ranks = serializers.CharField(help_text="What the ranks are about.")
    ranked_in = serializers.CharField(
        help_text="The key of the context ranked in; empty for all together."
    )
    k = serializers.IntegerField()
    places = serializers.IntegerField(help_text="The number of places on the list.")
    surely_among_top = serializers.IntegerField(
        source="surely", help_text="How many places are surely among the k busiest."
    )
    perhaps_among_top = serializers.IntegerField(
        source="perhaps", help_text="How many others may be among them."
    )
    joint_margin = serializers.IntegerField(
        help_text="All counts of the list are within this of the bounded ones at once, at the "
        "confidence level; the ranks follow from it."
    )
    results = RankedSerializer(many=True, help_text="The k highest noisy counts, highest first.")


RANKS = (
    "Ranks of counts as bounded: at most {bound:,} of each person are in them. They hold for all "
    "places of the list at once, 95 times in 100."
)


class TopView(DocumentView):
    """The busiest places of one release."""

    queries = (K, CONTEXT)

    @operation(
        "release_top",
        "List the busiest places",
        TopSerializer,
        tag="releases",
        parameters=[RELEASE_ID],
        errors=[409, 410, 503],
    )
    @heavy
    def get(self, request: Request, release_id: str) -> Response:
        """Return the k busiest places, with their margins and the ranks that they may have.

        This spends no budget, because ranks are computed from published counts alone.
        """
        release = served(request, release_id)
        k, context = self.query["k"], self.query["context"]
        top = _top(release.pk, release.blob_sha256, context)
        surely, perhaps = top.among(k)
        counting = release.request.counting
        document = TopAnswer(
            release=release.pk,
            counting=counting.value,
            counted=counted_once(counting).value,
            rows=noun_of(release.dataset.row_noun, VISIT).many,
            bound=release.bound,
            confidence=CONFIDENCE,
            meaning=MEANING[counting],
            ranks=RANKS.format(bound=release.bound),
            ranked_in=context,
            k=k,
            places=len(top),
            surely=surely,
            perhaps=perhaps,
            joint_margin=top.joint_margin,
            results=[Ranked(place, k) for place in top.first(k)],
        )
        answer = self.write(TopSerializer, document)
        return self.answer(answer, personal=is_personal(viewer_of(request)))


@lru_cache(maxsize=8)
def _top(release_id: str, sha256: str, context: str) -> TopPlaces:
    """Return a release's ranked places in one context. The object is cached.

    A context is a time slice or a value of a category.
    """
    return TopPlaces.of(drawn_release(release_id, sha256).content, context)
