"""Release states and actions: who sees a release, and what can be done with it.

All parts of the software read these tables. A new state needs a new entry in `STATES`; a new action
needs a new entry in `ACTIONS` and a service in `services.py`.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from django.db import models
from django.utils.translation import gettext_noop as _

from dpgeo.audit.models import EventKind
from dpgeo.jobs.models import Job, JobState


class ReleaseState(models.TextChoices):
    """State of a release; `STATES` holds the rules of each state."""

    DRAFT = "draft", "Draft"
    PUBLISHED = "published", "Published"
    WITHDRAWN = "withdrawn", "Withdrawn"
    REJECTED = "rejected", "Rejected"


class Files(enum.Enum):
    """Where the files of a release are: in the private storage, in the public one, or deleted."""

    PRIVATE = enum.auto()
    PUBLIC = enum.auto()
    DELETED = enum.auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """The response, with HTTP status 410, to requests for a release that has ended.

    `kind` is the last part of the problem type's URI, and the name of the page that shows the
    problem. `{id}` in `detail` stands for the release's id.
    """

    kind: str
    title: str
    remedy: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRules:
    """The rules for releases in one state.

    Members of the publishing organisation can always see a release, and its files unless these are
    deleted. Other visitors can read the files, and see the release in lists, only if `files` is
    PUBLIC. `known` says whether they may read its metadata. If not, these visitors get the response
    `gone`, or if that is None, a 404 as for an unknown id. `since` is the name of the field that
    holds the time at which the state began. `standing` explains the state on the owners' pages.
    `actions` are the keys of the actions that are possible in the state.
    """

    files: Files
    known: bool
    since: str
    standing: str
    actions: tuple[str, ...]
    gone: Gone | None = None

    @property
    def public(self) -> bool:
        """Whether everybody can read the release's metadata and files."""
        return self.files is Files.PUBLIC

    @property
    def served(self) -> bool:
        """Whether the release's files are served, to everybody or to members only."""
        return self.files is not Files.DELETED


STATES: Mapping[ReleaseState, StateRules] = {
    ReleaseState.DRAFT: StateRules(
        files=Files.PRIVATE,
        known=False,
        since="created_at",
        standing=_("Only members can see it."),
        actions=("publish", "reject", "cancel", "retry"),
    ),
    ReleaseState.PUBLISHED: StateRules(
        files=Files.PUBLIC,
        known=True,
        since="published_at",
        standing=_("Public since {moment}."),
        actions=("withdraw", "retry"),
    ),
    ReleaseState.WITHDRAWN: StateRules(
        files=Files.DELETED,
        known=True,
        since="withdrawn_at",
        standing=_(
            "No longer served since {moment}. Copies may remain elsewhere, and what it cost "
            "stays spent."
        ),
        actions=("retry",),
        gone=Gone(
            kind="withdrawn",
            title="This release is withdrawn",
            remedy="Its files are no longer served; the release itself says what it was.",
            detail="Its publisher has withdrawn this release; its files are no longer served. "
            "What it was is at /api/v1/releases/{id}.",
        ),
    ),
    ReleaseState.REJECTED: StateRules(
        files=Files.DELETED,
        known=False,
        since="rejected_at",
        standing=_(
            "Not published, by a decision of {moment}. Its files are deleted, and what it cost "
            "stays spent."
        ),
        actions=("retry",),
        gone=Gone(
            kind="not-published",
            title="This release was not published",
            remedy="Nothing of it is served, and nothing will be; other releases are at "
            "/api/v1/releases.",
        ),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """An action on a release.

    `label` is the text of its button. `needs` is the permission that it requires
    (`accounts.selectors.may`). `after` is the state in which the release's job must be; None allows
    any. `drawn` is True if there must be a draw, False if there must be none, and None if either is
    possible. `to` is the new state of the release, None if the state does not change; `event` is
    then None, too, and otherwise the kind of event by which the audit list records the action.
    `inputs` are the arguments of its service besides the release and the user; `seen` are optional
    arguments that state what the user has read, such as the checksum of the notes ("" if there are
    no notes), and `choices` optional arguments that are true or false. The other fields are
    messages: `denied` for users without the permission, `untimely` for a release in another state,
    and `done` for success.
    """

    label: str
    needs: str
    denied: str
    done: str
    after: JobState | None = None
    drawn: bool | None = None
    to: ReleaseState | None = None
    event: EventKind | None = None
    untimely: str = ""
    inputs: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()


ACTIONS: Mapping[str, Action] = {
    "publish": Action(
        label=_("publish"),
        needs="publish",
        seen=("notes_sha256",),
        choices=("all_files",),
        after=JobState.DONE,
        to=ReleaseState.PUBLISHED,
        event=EventKind.PUBLISHED,
        denied=_("Publishing needs the approver's role; ask an approver."),
        untimely=_("Only a finished draft can be published."),
        done=_("Published. Everybody can see it."),
    ),
    "reject": Action(
        label=_("reject"),
        inputs=("reason",),
        needs="publish",
        after=JobState.DONE,
        to=ReleaseState.REJECTED,
        event=EventKind.REJECTED,
        denied=_("Rejecting needs the approver's role; ask an approver."),
        untimely=_("Only a draft can be rejected; what is published can be withdrawn."),
        done=_("Rejected. It is not published, and what it cost stays spent."),
    ),
    "withdraw": Action(
        label=_("withdraw"),
        needs="publish",
        to=ReleaseState.WITHDRAWN,
        event=EventKind.WITHDRAWN,
        denied=_("Withdrawing needs the approver's role; ask an approver."),
        untimely=_("Only a published release can be withdrawn."),
        done=_("Withdrawn. What it cost stays spent."),
    ),
    "cancel": Action(
        label=_("cancel"),
        needs="request",
        after=JobState.QUEUED,
        drawn=False,
        denied=_("Only the stewards of this dataset may do this."),
        done=_("Cancelled. Nothing was spent."),
    ),
    "retry": Action(
        label=_("retry"),
        needs="request",
        after=JobState.FAILED,
        drawn=True,
        denied=_("Only the stewards of this dataset may do this."),
        done=_("Trying again, at no further cost."),
    ),
}


def states_from(action: str) -> tuple[ReleaseState, ...]:
    """Return the states in which an action is possible."""
    return tuple(state for state, rules in STATES.items() if action in rules.actions)


def is_timely(action: str, state: str, job: Job, *, drawn: bool) -> bool:
    """Return whether a release's state, job and draw allow an action, regardless of the user."""
    needed = ACTIONS[action]
    matches = needed.drawn is None or (drawn if needed.drawn else not job.drawing)
    in_time = needed.after is None or job.state == needed.after
    return action in STATES[ReleaseState(state)].actions and in_time and matches


PUBLIC = tuple(state for state, rules in STATES.items() if rules.public)
"""States in which releases are listed for everybody and their files are served to everybody."""

KNOWN = tuple(state for state, rules in STATES.items() if rules.known)
"""States in which everybody may read a release's metadata."""

ENDED = tuple(state for state, rules in STATES.items() if not rules.served)
"""Final states, in which releases have no files."""

GONE = tuple(rules.gone for rules in STATES.values() if rules.gone)
"""Responses, with HTTP status 410, to requests for a release that has ended.

There is one for each final state in which a request is not answered by a plain 404.
"""
