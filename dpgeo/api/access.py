"""Authentication by API key or session, and each requester's permissions.

A client sends its API key as `Authorization: Bearer dpg_...`. The key's scopes and the role of the
member who made the key decide what the client may do (`accounts.selectors`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated
from rest_framework.request import Request

from dpgeo.accounts.models import Organisation, Scope, User
from dpgeo.accounts.selectors import Visitor, key_owner, may
from dpgeo.accounts.services import KEY_BEGINS, key_mark_used
from dpgeo.api.problems import gone
from dpgeo.core.errors import Conflict, NotAllowed
from dpgeo.datasets.models import Dataset
from dpgeo.datasets.selectors import datasets_visible_to
from dpgeo.jobs.models import Job
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import ReleaseGone, jobs_of_keys, mask_draw, release_visible

SEE_DRAFTS = (Scope.RELEASES_REQUEST, Scope.RELEASES_PUBLISH)
"""Scopes that let an API key see its organisation's drafts; either one suffices."""

NO_KEY = (
    "This key is not valid: it is mistyped, expired or revoked, or its maker has left. An "
    "administrator of your organisation can make a new one at /desk/keys/."
)


class KeyAuthentication(BaseAuthentication):
    """Authentication by an API key in the Authorization header."""

    def authenticate(self, request: Request) -> tuple[User, None] | None:
        """Return the user on whose behalf the key acts, or None if the request has no key.

        Raises AuthenticationFailed if the key is not valid.
        """
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        secret = secret.strip()
        user = key_owner(secret) if secret.startswith(KEY_BEGINS) else None
        if user is None or user.acting_key is None:
            raise AuthenticationFailed(NO_KEY)
        key_mark_used(key=user.acting_key)
        return user, None

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="dpgeo"'


class KeyDescription(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Extension that describes API keys in the OpenAPI schema."""

    target_class = KeyAuthentication
    name = "key"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "A key that an administrator of an organisation made at /desk/keys/.",
        }


def request_actor(request: Request, scope: Scope) -> User:
    """Return the user who is signed in, or on whose behalf a key with `scope` acts.

    Raises NotAuthenticated (401) if the request has neither a session nor a key, or NotAllowed
    (403) if the key lacks the scope.
    """
    user = request.user
    if not isinstance(user, User):
        raise NotAuthenticated("Send a key as Authorization: Bearer dpg_..., or sign in.")
    if user.acting_key and scope not in user.acting_key.scopes:
        raise NotAllowed(
            "This key lacks the scope {scope}; use one that has it, made at /desk/keys/.",
            scope=scope,
        )
    return user


def request_viewer(request: Request) -> Visitor:
    """Return the user whose rights decide which releases are visible.

    That is an anonymous user if the request has a key with none of the scopes in SEE_DRAFTS.
    """
    user = request.user
    if not isinstance(user, User):
        return AnonymousUser()
    key = user.acting_key
    return AnonymousUser() if key and not set(SEE_DRAFTS) & set(key.scopes) else user


def is_key(viewer: Visitor) -> bool:
    """Return whether the requester `viewer` was authenticated by an API key."""
    return isinstance(viewer, User) and viewer.acting_key is not None


def is_settled(user: User, jobs: Iterable[Job | None]) -> bool:
    """Return whether `user` may know the true state of all `jobs`.

    A signed-in member always may. An API key may know it as soon as the API shows all of the jobs
    as done.
    """
    if not is_key(user) or not settings.DPGEO_JOB_SLOTS:
        return True
    return all(job is None or job.is_end_shown for job in jobs)


def check_settled(user: User, jobs: Iterable[Job | None]) -> None:
    """Raise Conflict if `user` may not know yet that all `jobs` have ended.

    If an action on their results were allowed earlier, its success would reveal to the owner of an
    API key how long the jobs ran.
    """
    if not is_settled(user, jobs):
        raise Conflict("Work is not done; try again when the job is.")


def jobs_of(dataset: Dataset) -> Iterator[Job | None]:
    """Yield the job of each upload and release of a dataset, or None for an upload without one."""
    for results in (dataset.uploads, dataset.releases):
        for result in results.select_related("job"):
            yield result.job


@contextmanager
def one_job_at_a_time(user: User, organisation_id: int) -> Iterator[None]:
    """Let an API key start a job only if all earlier jobs are shown as done.

    The earlier jobs are those of the organisation that keys may have started. With many jobs in the
    queue, a client could work out how long one job takes from the number of jobs shown as done at a
    public time, which is one of the fixed times at which keys learn that jobs have ended. Raises
    Conflict while an earlier job is not shown as done. Members are not limited.
    """
    if not (is_key(user) and settings.DPGEO_JOB_SLOTS):
        yield
        return
    with transaction.atomic():
        # Lock the organisation, so that two simultaneous requests cannot start two jobs.
        Organisation.objects.select_for_update().get(pk=organisation_id)
        check_settled(user, jobs_of_keys(organisation_id))
        yield


def release_seen(viewer: Visitor, release_id: str) -> Release:
    """Return the release with this id if `viewer` may see it.

    Raises Http404 if not, or Refused (410) if the release ended without being published.
    """
    try:
        release = release_visible(viewer, release_id)
        return mask_draw(release) if is_key(viewer) else release
    except ReleaseGone as error:
        raise gone(error.gone, release_id) from None
    except Release.DoesNotExist:
        raise Http404 from None


def check_served(release: Release) -> None:
    """Raise Refused (410) if the release's files are no longer served."""
    if ended := release.rules.gone:
        raise gone(ended, release.pk)


def own_dataset(user: User, slug: str, action: str) -> Dataset:
    """Return the dataset `slug` if it belongs to one of the organisations of `user`.

    Raises Http404 for any other dataset, or NotAllowed if the user's role does not allow `action`.
    """
    dataset = get_object_or_404(datasets_visible_to(user), slug=slug)
    if not may(user, dataset, action):
        raise NotAllowed("Your role in this organisation does not suffice; ask an administrator.")
    return dataset
