"""Asking what a release would be, asking for it, and deciding what becomes of it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any, ClassVar
from uuid import UUID

from django.http import Http404
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from dpgeo.accounts.models import Scope, User
from dpgeo.accounts.selectors import may, organisations_of
from dpgeo.api.access import own_dataset
from dpgeo.api.base import DocumentView
from dpgeo.api.member_serializers import QuoteSerializer
from dpgeo.api.openapi import in_path, operation
from dpgeo.api.request_bodies import Body, Decimal, Flag, Members, Real, Text, Whole, read_body
from dpgeo.api.serializers import ANY_JSON, FORMER_REJECTED, ReleaseSerializer
from dpgeo.core.advice import Guess
from dpgeo.core.errors import Conflict, InvalidInput, NotAllowed
from dpgeo.core.guarantees import Bounding, Counting
from dpgeo.datasets.models import Dataset
from dpgeo.mechanisms.registry import MECHANISMS
from dpgeo.releases.models import Release
from dpgeo.releases.requests import ReleaseRequest, read_request, request_of
from dpgeo.releases.selectors import releases_visible_to
from dpgeo.releases.services import (
    release_cancel,
    release_publish,
    release_quote,
    release_reject,
    release_request,
    release_withdraw,
)

IDEMPOTENCY_KEY = "Idempotency-Key"

SAME_JOB = OpenApiParameter(
    IDEMPOTENCY_KEY,
    str,
    OpenApiParameter.HEADER,
    required=True,
    description="A name of your choice for this request, such as a date or a UUID. Sent again "
    "with the same name it leads to the same job, and is paid for once.",
)

RELEASE_ID = in_path("release_id", "The release's id.")


class Priced(Body):
    """What the cost of a release follows from."""

    mechanism = Text("The key of a mechanism.", schema={"type": "string", "enum": list(MECHANISMS)})
    parameters = Members(
        "The mechanism's parameters; what is absent takes its default.",
        schema={"type": "object", "additionalProperties": ANY_JSON},
        default={},
    )
    epsilon = Decimal(
        "What to spend, with at most six decimals; text keeps it exact. Left out where the "
        "mechanism's parameters say what it costs.",
        default=None,
    )
    bound = Whole(
        "How much of one person enters the map at most: cells (people) or records (visits).",
        schema={"type": "integer", "minimum": 1},
    )
    counting = Text(
        "What a cell counts.",
        schema={"type": "string", "enum": [each.value for each in Counting]},
        default=Counting.PEOPLE.value,
    )
    bounding = Text(
        "Which places of a person are kept, where there are more than the bound: some at random, "
        "or the most popular ones, for which a tenth of epsilon is spent on noisy counts of all "
        "places.",
        schema={"type": "string", "enum": [each.value for each in Bounding]},
        default=Bounding.RANDOM.value,
    )


class Guesses(Body):
    """Guesses in public numbers."""

    people = Whole(schema={"type": "integer", "minimum": 1})
    records = Whole(schema={"type": "integer", "minimum": 1})
    share = Real(schema={"type": "number", "exclusiveMinimum": 0, "maximum": 1})


class Quoted(Priced):
    """What a dry run is of."""

    guess = Guesses(
        help_text="Guesses in public numbers, for advice on the bound: people, the records "
        "(places) of each, and the share of them that lies in one busy place.",
        default=None,
    )


class Titled(Body):
    """What a release is of, and its words."""

    dataset = Text("The dataset's slug.")
    title = Text("The map's title. Public.")
    description = Text("What it shows. Public.", default="")


class Requested(Titled, Priced):
    """A release that is asked for."""

    publish_when_done = Flag(
        "Whether it is published as soon as it is drawn, which needs the scope releases:publish.",
        default=False,
    )


class Rejection(Body):
    """Why a draft is not published."""

    reason = Text("Why it is not published. Seen by members alone.")


class QuoteView(DocumentView):
    """A dry run."""

    scopes: ClassVar = {"POST": Scope.RELEASES_REQUEST}

    @operation(
        "quote",
        "Quote a release",
        QuoteSerializer,
        tag="releases",
        parameters=[in_path("slug", "The dataset's short name.")],
        body=Quoted,
        errors=[409],
    )
    def post(self, request: Request, slug: str) -> Response:
        """What it would cost, what would be left, and the noise to expect. Spends nothing."""
        dataset = own_dataset(self.actor, slug, "request")
        asked = read_quoted(request)
        guess = asked.pop("guess")
        quote = release_quote(dataset=dataset, request=read_request(dataset, **asked), guess=guess)
        return self.answer(self.write(QuoteSerializer, quote, dataset=dataset), personal=True)


class ReleaseActionView(DocumentView):
    """What becomes of a release."""

    def act(
        self,
        request: Request,
        release_id: str,
        service: Callable[..., Release],
        body: type[Body] = Body,
    ) -> Response:
        """Let a service decide, and say what the release is then."""
        asked = read_body(request, body)
        release = own_release(self.actor, release_id)
        service(release=release, by=self.actor, **asked)
        return self.answer(self.write(ReleaseSerializer, release), personal=True)


class PublishView(ReleaseActionView):
    """Publication."""

    scopes: ClassVar = {"POST": Scope.RELEASES_PUBLISH}

    @operation(
        "release_publish",
        "Publish a release",
        ReleaseSerializer,
        tag="releases",
        parameters=[RELEASE_ID],
        errors=[409],
    )
    def post(self, request: Request, release_id: str) -> Response:
        """Make a finished draft public."""
        return self.act(request, release_id, release_publish)


class RejectView(ReleaseActionView):
    """Rejection of a draft."""

    scopes: ClassVar = {"POST": Scope.RELEASES_PUBLISH}

    @operation(
        "release_reject",
        "Reject a draft",
        ReleaseSerializer,
        tag="releases",
        parameters=[RELEASE_ID],
        body=Rejection,
        errors=[409],
    )
    def post(self, request: Request, release_id: str) -> Response:
        """Never publish a finished draft, judged by the draft alone. Its files are deleted, and
        what it cost is spent."""
        return self.act(request, release_id, release_reject, Rejection)


class RefuseView(RejectView):
    """Rejection at the address and with the state's name of version 0.1; goes with version 0.2."""

    @operation(
        "release_refuse",
        "Reject a draft (earlier address)",
        ReleaseSerializer,
        tag="releases",
        parameters=[RELEASE_ID],
        body=Rejection,
        errors=[409],
        deprecated=True,
    )
    def post(self, request: Request, release_id: str) -> Response:
        """Use `/reject`. Does the same, and calls the state that follows `refused`."""
        response = super().post(request, release_id)
        response.data["state"] = FORMER_REJECTED
        return response


class WithdrawView(ReleaseActionView):
    """Withdrawal."""

    scopes: ClassVar = {"POST": Scope.RELEASES_PUBLISH}

    @operation(
        "release_withdraw",
        "Withdraw a release",
        ReleaseSerializer,
        tag="releases",
        parameters=[RELEASE_ID],
        errors=[409],
    )
    def post(self, request: Request, release_id: str) -> Response:
        """Stop serving it, for good. Copies remain where they are, and what it cost is spent."""
        return self.act(request, release_id, release_withdraw)


class CancelView(ReleaseActionView):
    """Cancellation."""

    scopes: ClassVar = {"POST": Scope.RELEASES_REQUEST}

    @operation(
        "release_cancel",
        "Cancel a release",
        ReleaseSerializer,
        tag="releases",
        parameters=[RELEASE_ID],
        errors=[409],
    )
    def post(self, request: Request, release_id: str) -> Response:
        """Before its job starts; what it cost is given back."""
        return self.act(request, release_id, release_cancel)


def read_quoted(request: Request) -> dict[str, Any]:
    """What a dry run is of. Raises InvalidInput."""
    asked = read_body(request, Quoted)
    if asked["guess"] is not None:
        asked["guess"] = read_guess(asked["guess"])
    return asked


def read_guess(given: dict[str, Any]) -> Guess:
    """A guess. Raises InvalidInput that names its member."""
    try:
        return Guess(**given)
    except InvalidInput as refusal:
        raise InvalidInput(refusal.phrase, field=f"guess.{refusal.field}") from None


def request_release(request: Request, user: User) -> tuple[Release, bool]:
    """Ask for a release. It comes back with whether the same request was made before.

    Raises DpgeoError.
    """
    named = read_idempotency_key(request)
    asked = read_body(request, Requested)
    dataset = own_dataset(user, asked.pop("dataset"), "request")
    if asked["publish_when_done"] and not may(user, dataset, "publish"):
        raise NotAllowed(
            "Publishing needs the scope releases:publish and the approver's role; leave this "
            "out, and let somebody publish it who may.",
            field="publish_when_done",
        )
    job_id = job_named(dataset, named)
    known = Release.objects.filter(dataset=dataset, job_id=job_id).exists()
    wanted = read_request(dataset, **{name: asked.pop(name) for name in map(str, Priced().fields)})
    release = release_request(
        dataset=dataset, request=wanted, requested_by=user, job_id=job_id, **asked
    )
    check_same(release, wanted, asked)
    return release, known


def read_idempotency_key(request: Request) -> str:
    """The name of a request. Raises InvalidInput.

    It is demanded: a request that was sent twice because an answer was lost would spend twice,
    and what is spent never comes back.
    """
    name = request.headers.get(IDEMPOTENCY_KEY, "").strip()
    if not re.fullmatch(r"[!-~]{1,200}", name):
        raise InvalidInput(
            "Give this request a name of 1 to 200 letters, digits and signs, and send it with "
            "the same name if no answer comes: then it is paid for once.",
            field=IDEMPOTENCY_KEY,
        )
    return name


def job_named(dataset: Dataset, name: str) -> UUID:
    """The id of the job of a named request: of this dataset alone, so that no name reaches into
    another organisation's.

    A draw is found again by the id of its job, even after a backup was restored; so the moment of
    the declaration is part of it, for a primary key may then be given to another dataset.
    """
    facts = f"dpgeo release {dataset.pk} {dataset.created_at.isoformat()} {name}"
    digest = hashlib.sha256(facts.encode()).digest()
    return UUID(bytes=digest[:16], version=5)


def check_same(release: Release, wanted_request: ReleaseRequest, asked: dict[str, Any]) -> None:
    """Raise Conflict if a release is not what was asked for: its name was used before."""
    wanted = (asked["title"].strip(), asked["description"].strip(), asked["publish_when_done"])
    made = (release.title, release.description, release.publish_when_done)
    if wanted != made or wanted_request != request_of(release):
        raise Conflict(
            "Another request of this dataset had this name; give each its own.",
            field=IDEMPOTENCY_KEY,
        )


def own_release(user: User, release_id: str) -> Release:
    """A release of the organisations that `user` acts for. Raises Http404 for any other."""
    mine = releases_visible_to(user).filter(dataset__organisation__in=organisations_of(user))
    found = mine.filter(pk=release_id).first()
    if found is None:
        raise Http404
    return found
