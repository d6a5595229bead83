"""Views of quotes, release requests and decisions on releases, such as publishing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any, ClassVar

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from pydantic import Field
from rest_framework.request import Request

from dpgeo.accounts.models import Scope, User
from dpgeo.accounts.selectors import may, visible_organisations
from dpgeo.api.access import check_settled, is_key, is_settled, one_job_at_a_time, own_dataset
from dpgeo.api.base import DocumentView
from dpgeo.api.idempotency import IDEMPOTENCY_KEY, id_named, read_idempotency_key
from dpgeo.api.member_answers import QuoteOut, quote_answer
from dpgeo.api.openapi import operation
from dpgeo.api.public_answers import ReleaseOut, release_answer
from dpgeo.api.request_bodies import read_body
from dpgeo.blanks import trim
from dpgeo.core.advice import Guess
from dpgeo.core.declared import Declared, Flag, Items, Real, Text, schema_of
from dpgeo.core.errors import Conflict, NotAllowed
from dpgeo.core.release_request import ReleaseRequest
from dpgeo.mechanisms.registry import MECHANISMS
from dpgeo.releases.models import Release
from dpgeo.releases.notes import MAX_NOTE_LENGTH, MAX_NOTES, release_annotate
from dpgeo.releases.requests import PricedRequest, price_request, stored_request
from dpgeo.releases.selectors import mask_draw, releases_visible_to
from dpgeo.releases.services import (
    marked_title,
    release_cancel,
    release_publish,
    release_quote,
    release_reject,
    release_request,
    release_retry,
    release_withdraw,
)

decision = partial(operation, answer=ReleaseOut, tag="releases", errors=[409])
"""Decorator that describes a decision on a release; its arguments name and summarise
the operation.
"""


class Priced(ReleaseRequest):
    """The fields that determine the cost of a release."""

    schema_facts: ClassVar = {"mechanism": {"enum": list(MECHANISMS)}}


class Quoted(Priced):
    """A request body for a quote."""

    guess: Guess | None = Field(
        default=None,
        description="Guesses from public knowledge, for advice on the bound: how many people there "
        "are, how many records (places) each has, and the share of records in one busy place.",
    )


class Titled(Declared):
    """Request fields for the dataset of a release, and for the texts shown with the release."""

    dataset: Text = Field(description="The dataset's slug.")
    title: Text = Field(description="The map's title. Public.")
    description: Text = Field(default="", description="What it shows. Public.")


ALL_FILES = (
    "Whether the files are made once it is published, rather than when somebody first asks for "
    "them. Those with more than a million features always wait until then."
)


class Requested(Priced, Titled):
    """A request body for a release."""

    publish_when_done: Flag = Field(
        default=False,
        description="Whether to publish it when its job is done; needs the scope releases:publish.",
    )
    all_files: Flag = Field(default=False, description=ALL_FILES)


class Publication(Declared):
    """A request body for publishing a draft, with the checksum of the notes that were seen."""

    notes_sha256: Text = Field(
        default="",
        description="The checksum of the draft's notes, as its description gives it: needed where "
        "there are notes, so that none is published unread.",
    )
    all_files: Flag | None = Field(
        default=None, description=f"{ALL_FILES} Omitted: as it was requested."
    )


class NoteSent(Declared):
    """A note on a map, as a client sends it."""

    text: Text = Field(
        description=f"Plain text of one line, at most {MAX_NOTE_LENGTH} characters. Say only what "
        "the released figures show: no noise protects what you know from the data.",
        json_schema_extra={"minLength": 1, "maxLength": MAX_NOTE_LENGTH},
    )
    longitude: Real = Field(description="In degrees.")
    latitude: Real = Field(description="In degrees; within the study area.")


class Notes(Declared):
    """A request body with all notes on a map."""

    notes: Items = Field(
        description=f"At most {MAX_NOTES} notes, in the order of their numbers; they replace the "
        "former ones.",
        json_schema_extra={"maxItems": MAX_NOTES, "items": schema_of(NoteSent)},
    )


class Rejection(Declared):
    """A request body for rejecting a draft, with the reason."""

    reason: Text = Field(description="Why it is not published. Only members see this.")


class QuoteView(DocumentView):
    scopes: ClassVar = {"POST": Scope.RELEASES_REQUEST}

    @operation(
        "quote",
        "Quote a release",
        QuoteOut,
        tag="releases",
        body=Quoted,
        errors=[409],
    )
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Get the cost of a release, the budget that would be left, and the noise to expect.

        Asking for a quote spends nothing.
        """
        dataset = own_dataset(self.actor, slug, "request")
        quoted = read_body(request, Quoted)
        quote = release_quote(
            dataset=dataset,
            request=price_request(dataset, quoted.part(ReleaseRequest)),
            guess=quoted.guess,
            refunds=not is_key(self.actor),
        )
        return self.answer(quote_answer(quote, dataset), personal=True)


class ReleaseActionView(DocumentView):
    def act(
        self,
        request: Request,
        release_id: str,
        service: Callable[..., Release],
        body: type[Declared] = Declared,
    ) -> HttpResponse:
        """Carry out a decision on the user's release, and return a response with that release.

        `service` is the function that carries it out, such as `release_publish`. It also gets the
        fields of the request's `body`.
        """
        fields = dict(read_body(request, body))
        release = own_release(self.actor, release_id)
        self.decide(release, service, fields)
        if is_key(self.actor):
            mask_draw(release)
        return self.answer(release_answer(release, request), personal=True)

    def decide(
        self, release: Release, service: Callable[..., Release], fields: dict[str, Any]
    ) -> None:
        """Carry out a decision: call `service` with the release and the `fields` of the body.

        Raises Conflict while the user may not know yet that the release's job has ended.
        """
        if not release.rules.known:
            check_settled(self.actor, [release.job])
        service(release=release, by=self.actor, **fields)


class PublishView(ReleaseActionView):
    scopes: ClassVar = {"POST": Scope.RELEASES_PUBLISH}

    @decision("release_publish", "Publish a release", body=Publication)
    def post(self, request: Request, release_id: str) -> HttpResponse:
        """Make a finished draft public, with its notes."""
        return self.act(request, release_id, release_publish, Publication)


class NotesView(ReleaseActionView):
    scopes: ClassVar = {"PUT": Scope.RELEASES_REQUEST}

    @decision("release_notes", "Write notes on a map", body=Notes)
    def put(self, request: Request, release_id: str) -> HttpResponse:
        """Replace the notes on a draft. Publishing the draft makes them public and final.

        Notes are the publisher's own words, shown at positions on the map. If somebody without the
        right to publish writes them, the draft waits for an approver.
        """
        return self.act(request, release_id, release_annotate, Notes)

    def decide(
        self, release: Release, service: Callable[..., Release], fields: dict[str, Any]
    ) -> None:
        """Store the notes, even if the user may not know yet whether the release's job has ended.

        Writing notes does not reveal whether it has.
        """
        service(release=release, by=self.actor, **fields)


class RejectView(ReleaseActionView):
    scopes: ClassVar = {"POST": Scope.RELEASES_PUBLISH}

    @decision("release_reject", "Reject a draft", body=Rejection)
    def post(self, request: Request, release_id: str) -> HttpResponse:
        """Reject a finished draft, which is then never published.

        The decision may depend only on the draft. The draft's files are deleted, and its cost stays
        spent.
        """
        return self.act(request, release_id, release_reject, Rejection)


class WithdrawView(ReleaseActionView):
    scopes: ClassVar = {"POST": Scope.RELEASES_PUBLISH}

    @decision("release_withdraw", "Withdraw a release")
    def post(self, request: Request, release_id: str) -> HttpResponse:
        """Stop serving a published release permanently.

        Copies that others have made remain, and the cost of the release stays spent.
        """
        return self.act(request, release_id, release_withdraw)


class CancelView(ReleaseActionView):
    scopes: ClassVar = {"POST": Scope.RELEASES_REQUEST}

    @decision("release_cancel", "Cancel a release")
    def post(self, request: Request, release_id: str) -> HttpResponse:
        """Cancel a release before its job starts, and refund its cost.

        Only members can cancel a release. If an API key could do so, the success of its request
        would reveal when earlier jobs ended.
        """
        return self.act(request, release_id, release_cancel)


class RetryView(ReleaseActionView):
    scopes: ClassVar = {"POST": Scope.RELEASES_REQUEST}

    @decision("release_retry", "Finish a release")
    def post(self, request: Request, release_id: str) -> HttpResponse:
        """Write the files of a release whose noise was drawn before its job stopped.

        This costs nothing, and repeating it changes nothing. For a release without a draw the
        response is 409, because noise is never drawn twice. Request a new release in that case.
        """
        return self.act(request, release_id, release_retry)

    def decide(
        self, release: Release, service: Callable[..., Release], fields: dict[str, Any]
    ) -> None:
        """Retry the job if the user may know that it has ended; otherwise do nothing."""
        if is_settled(self.actor, [release.job]):
            with one_job_at_a_time(self.actor, release.dataset.organisation_id):
                service(release=release, by=self.actor, **fields)


ACTION_VIEWS: Mapping[str, type[ReleaseActionView]] = {
    "publish": PublishView,
    "reject": RejectView,
    "withdraw": WithdrawView,
    "cancel": CancelView,
    "retry": RetryView,
}
"""The views for decisions on a release, by the last part of their URL."""


def request_release(request: Request, user: User) -> tuple[Release, bool]:
    """Request a release; return it, and whether it had already been requested by the same key.

    The key is the idempotency key. Raises DpgeoError if the request is invalid or not allowed, or
    if the key was used for a different request.
    """
    named = read_idempotency_key(request)
    sent = read_body(request, Requested)
    dataset = own_dataset(user, sent.dataset, "request")
    if sent.publish_when_done and not may(user, dataset, "publish"):
        raise NotAllowed(
            "Publishing needs the scope releases:publish and the approver's role; omit this, and "
            "ask an approver to publish the draft.",
            field="publish_when_done",
        )
    job_id = id_named(dataset, "release", named)
    known = Release.objects.filter(dataset=dataset, job_id=job_id).exists()
    priced = price_request(dataset, sent.part(ReleaseRequest))
    with nullcontext() if known else one_job_at_a_time(user, dataset.organisation_id):
        release = release_request(
            dataset=dataset,
            title=sent.title,
            description=sent.description,
            request=priced,
            publish_when_done=sent.publish_when_done,
            all_files=sent.all_files,
            requested_by=user,
            job_id=job_id,
        )
    check_same(release, priced, sent)
    return release, known


def check_same(release: Release, priced: PricedRequest, sent: Requested) -> None:
    """Raise Conflict if a repeated request differs from the one that made `release`.

    Both requests have the same idempotency key; `priced` and `sent` are what is requested now.
    """
    title = marked_title(release.upload, trim(sent.title))
    now = (title, trim(sent.description), sent.publish_when_done, sent.all_files)
    earlier = (release.title, release.description, release.publish_when_done, release.all_files)
    if now != earlier or priced != stored_request(release):
        raise Conflict(
            "Another request for this dataset has this name; give each request its own.",
            field=IDEMPOTENCY_KEY,
        )


def own_release(user: User, release_id: str) -> Release:
    """Return a release of one of the user's organisations. Raises Http404 for any other release."""
    mine = releases_visible_to(user).filter(dataset__organisation__in=visible_organisations(user))
    return get_object_or_404(mine, pk=release_id)
