"""Quotas of organisations (bytes of files, jobs and API requests per day), and a cap on budgets.

Privacy argument. A refusal must not reveal anything about the data. When a job ends, and how large
a canonical file is, depends on the rows. So quotas count the bytes of files as they were sent,
whatever became of the files, and jobs when somebody requests them; a counted job is never
subtracted again. Whoever sends files and requests jobs knows both numbers anyway. An erasure makes
a new version of a file; it counts as much as the one that it replaces, and only one of the two
counts at any time.

Jobs and requests are counted in the cache of rate limits. If it fails, they have no quota for the
time being: quotas share out the server's work, and protect neither accounts nor data.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from uuid import UUID

from django.db.models import Sum

from dpgeo.accounts.models import Organisation, User
from dpgeo.accounts.rate_counters import DAY, count, counted, requests_of
from dpgeo.budgets.models import Ledger
from dpgeo.core.epsilon import format_epsilon
from dpgeo.core.errors import Conflict
from dpgeo.core.guarantees import SCALE, Notion
from dpgeo.datasets.models import Transfer, Upload, UploadState
from dpgeo.phrases import Figure

MIB = 1 << 20

CAPPED_RADIUS = 200
"""Radius in metres for which `Organisation.most_level` states the largest level of points."""


@dataclass(frozen=True, slots=True)
class Use:
    """What an organisation uses: bytes of uploaded files, and today's jobs and requests (in
    UTC).
    """

    bytes: int
    jobs: int
    requests: int


def organisation_use(organisation: Organisation) -> Use:
    """Return how much of its quotas an organisation uses now."""
    return Use(
        bytes=stored_bytes(organisation.pk),
        jobs=counted(_jobs_of(organisation.pk), window=DAY),
        requests=counted(requests_of(organisation.pk), window=DAY),
    )


def stored_bytes(organisation: int, *, but: UUID | None = None) -> int:
    """Return the size of an organisation's files as they were sent, and of those being sent.

    `but` is the id of a transfer that is not counted, because it is about to become an upload.
    Registered folders and tables are not counted: the operator chose them.
    """
    sent = Upload.objects.filter(dataset__organisation=organisation, erasing=None)
    uploads = sent.filter(source={})
    transfers = Transfer.objects.filter(dataset__organisation=organisation)
    if but is not None:
        transfers = transfers.exclude(pk=but)
    kept = uploads.exclude(state=UploadState.ERASED)
    return sum(each.aggregate(size=Sum("size", default=0))["size"] for each in (kept, transfers))


def check_room(organisation: int, size: int, *, but: UUID | None = None) -> None:
    """Raise Conflict if a further file of `size` bytes is more than the organisation may keep.

    Call this in the transaction that stores the file's row: the organisation is locked, so that two
    concurrent files are not both accepted if there is room for only one.
    """
    stored = Organisation.objects.select_for_update(no_key=True).get(pk=organisation)
    most = stored.quota_bytes
    if most is None:
        return
    used = stored_bytes(organisation, but=but)
    if used + size > most:
        raise Conflict(
            "Your organisation may keep {most:,} MiB of uploaded files, and has {used:,} MiB; this "
            "one is larger than what is left. Discard uploads that nobody needs, or ask the "
            "operator of this site for more.",
            most=most // MIB,
            used=-(-used // MIB),
            field="file",
        )


def count_job(organisation: Organisation, by: User | None) -> None:
    """Count a job that somebody asks for; `by` is None at the console, which has no limit.

    Raises Conflict if the organisation may ask for no more today.
    """
    most = organisation.quota_jobs
    if by is None or not most:
        return
    if count(_jobs_of(organisation.pk), most, window=DAY) is not None:
        raise Conflict(
            "Your organisation may ask for {most:,} jobs a day, in UTC, and has done so; try again "
            "tomorrow.",
            most=most,
        )


def _jobs_of(organisation: int) -> str:
    return f"jobs of {organisation}"


def check_cap(organisation: Organisation, ledger: Ledger) -> None:
    """Raise Conflict if a budget exceeds what may be published about one set of people.

    Call this after the budget's total was set, in the same transaction.

    Published points tell that somebody is in the data, which no epsilon bounds. So an organisation
    with a cap on epsilon may have no budget for points, unless the operator has also set the
    largest level. Members choose the radius of their level; before it is compared with the largest
    one, it is converted to `CAPPED_RADIUS`.
    """
    if ledger.radius is not None:
        _check_points_cap(organisation, ledger)
        return
    most = organisation.most_epsilon
    if most is None or ledger.epsilon_of(ledger.total_units) <= Fraction(most):
        return
    raise Conflict(
        "The operator of this site allows your organisation at most epsilon {most} for the same "
        "people; choose a smaller budget.",
        most=Figure(format_epsilon(Fraction(most))),
        field="budget",
    )


def _check_points_cap(organisation: Organisation, ledger: Ledger) -> None:
    most = organisation.most_level
    if most is None and organisation.most_epsilon is not None:
        raise Conflict(
            "The operator of this site limits what your organisation may publish about the same "
            "people, and points would exceed every limit in epsilon; ask for a limit for points.",
            field="points_budget",
        )
    level = Fraction(ledger.total_units * CAPPED_RADIUS, SCALE[Notion.GEO_IND])
    if most is not None and level > Fraction(most):
        raise Conflict(
            "The operator of this site allows your organisation at most level {most} within "
            "{radius} m for points of the same people; choose a smaller budget.",
            most=Figure(format_epsilon(Fraction(most))),
            radius=CAPPED_RADIUS,
            field="points_budget",
        )
