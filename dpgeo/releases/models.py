"""Database tables of releases and their files."""

from __future__ import annotations

import datetime
import secrets
import uuid
from fractions import Fraction

from django.db import models
from django.utils import timezone

from dpgeo.accounts.models import User
from dpgeo.artefacts.files import FileKind, file_kind
from dpgeo.budgets.models import Ledger, NotionChoice
from dpgeo.budgets.selectors import ledger_for
from dpgeo.core.declared import labels
from dpgeo.core.epsilon import format_epsilon
from dpgeo.core.guarantees import (
    GeoInd,
    Guarantee,
    Notion,
    Unit,
    from_units,
    guarantee,
    protected_at,
)
from dpgeo.core.release_request import ReleaseRequest
from dpgeo.core.series import Period, Protection, Terms, period_window
from dpgeo.core.series_request import SeriesRequest
from dpgeo.core.window import Window
from dpgeo.core.zcdp import exponent_delta
from dpgeo.datasets.declared_field import DeclaredField
from dpgeo.datasets.models import Dataset, PublicLayer, Upload
from dpgeo.jobs.models import Job
from dpgeo.releases.states import STATES, ReleaseState, StateRules


def make_public_id() -> str:
    """Return a random id with 128 random bits, unguessable and safe in URLs.

    It never begins with "-", because command-line programs would mistake it for an option.
    """
    while (public_id := secrets.token_urlsafe(16)).startswith("-"):
        pass
    return public_id


def today() -> datetime.date:
    """Return today's date in UTC."""
    return timezone.now().astimezone(datetime.UTC).date()


def _choices(name: str) -> list[tuple[str, str]]:
    """Return the choices of a field of a series' declaration, with their labels."""
    choices = labels(SeriesRequest.model_fields[name]).items()
    return [(str(each), label) for each, label in choices]


class Series(models.Model):
    """A declared series of releases, one for each period, drawn in order and each once.

    `drawn` is the number of periods whose draws are committed. `state_name` names the private file
    that says how many of the contributions allowed in the series each person has used in these
    periods (`releases.series_state`); it is empty before the first draw, and if the protection
    needs no state. Both change only in the transaction that commits a draw. `salt` is used for all
    periods. If a person is protected over the whole series, the series has the id of the debit that
    pays for it.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="series")
    title = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    request = DeclaredField(ReleaseRequest, help_text="What each of its maps repeats.")
    layers = models.ManyToManyField(PublicLayer, related_name="series", blank=True, editable=False)
    period = models.CharField(max_length=10, choices=_choices("period"))
    first_day = models.DateField(help_text="First day of the first period.")
    protection = models.CharField(max_length=10, choices=_choices("protection"))
    each = models.PositiveIntegerField(help_text="The most that one person adds to a map.")
    most = models.PositiveIntegerField(
        help_text="The most that one person adds to all maps, or the number of maps or of periods "
        "in a row."
    )
    epsilon_units = models.BigIntegerField(help_text="In millionths of epsilon.")
    rho_units = models.BigIntegerField(
        null=True, editable=False, help_text="In nano-rho, if the series is paid in rho."
    )
    delta_exponent = models.PositiveSmallIntegerField(
        null=True, editable=False, help_text="Rho is stated at a delta of 10 to minus this."
    )
    publish_when_done = models.BooleanField(default=False)
    all_files = models.BooleanField(
        default=False,
        help_text="Whether the files of each map are made when it is published, not when somebody "
        "asks.",
    )
    complete_through = models.DateField(
        null=True, blank=True, help_text="Last day through which the owner says data are complete."
    )
    drawn = models.PositiveIntegerField(default=0, editable=False)
    state_name = models.CharField(max_length=255, blank=True, editable=False)
    salt = models.BinaryField(max_length=16, editable=False)
    by_key = models.BooleanField(default=False, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    ended_at = models.DateTimeField(null=True, blank=True)
    ending = models.CharField(
        max_length=20, blank=True, help_text="Why it ended, as in releases.series."
    )

    class Meta:
        ordering = ["-created_at"]
        verbose_name_plural = "series"
        constraints = [
            models.CheckConstraint(
                condition=models.Q(each__gte=1, most__gte=1, epsilon_units__gt=0),
                name="series_numbers_positive",
            ),
            models.CheckConstraint(
                condition=models.Q(rho_units=None, delta_exponent=None)
                | models.Q(rho_units__gt=0, delta_exponent__isnull=False),
                name="series_in_rho_has_a_delta",
            ),
            models.CheckConstraint(
                condition=models.Q(ended_at=None, ending="")
                | models.Q(ended_at__isnull=False) & ~models.Q(ending=""),
                name="series_ended_for_a_reason",
            ),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def terms(self) -> Terms:
        """The privacy terms of the series."""
        return Terms(
            period=Period(self.period),
            protection=Protection(self.protection),
            each=self.each,
            most=self.most,
            epsilon=from_units(Notion.PURE_DP, self.epsilon_units),
            rho=None if self.rho_units is None else from_units(Notion.ZCDP, self.rho_units),
            delta=None if self.delta_exponent is None else exponent_delta(self.delta_exponent),
        )

    @property
    def is_paid_once(self) -> bool:
        """Whether one debit, under the series' id, pays for all maps."""
        return self.protection == Protection.PERSON

    def window(self, number: int) -> Window:
        """Return the days of period `number`, counted from 1."""
        return period_window(Period(self.period), self.first_day, number)

    def has_map(self, number: int) -> bool:
        """Return whether the series has a map of this number, counted from 1."""
        return self.terms.maps is None or number <= self.terms.maps

    @property
    def closed(self) -> Window | None:
        """The days from the first to the last of all periods drawn or due; None without any.

        The owner has reported that the data of these days are complete, so further rows of these
        days are refused.
        """
        said, number = self.complete_through, self.drawn
        while said and self.has_map(number + 1) and self.window(number + 1).last <= said:
            number += 1
        return Window(self.first_day, self.window(number).last) if number else None

    def job_id(self, number: int) -> uuid.UUID:
        """Return the id of the job that draws period `number`.

        It never changes, so a draw that is missing from a restored database is found again.
        """
        return uuid.uuid5(self.pk, f"period {number}")


class Release(models.Model):
    """A request for a release and, once its job has committed a draw, that immutable blob.

    `salt` seeds the choice of each person's contributions; it is the same for every attempt of the
    job. The job reads the version of the data that `upload` names. The columns `mechanism` and
    `bound` repeat facts of the request: lists are searched by the first, and a private choice
    changes the second. `blob_name` and
    `blob_sha256` are set together at the commit point, and never change. Lists are ordered by
    `day`, and within a day by the random id: an order by time of day would reveal when jobs ended,
    which depends on the private data. If the release belongs to a series, it is the map of period
    `number`.
    """

    id = models.CharField(primary_key=True, max_length=32, default=make_public_id, editable=False)
    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="releases")
    series = models.ForeignKey(
        Series, null=True, editable=False, on_delete=models.PROTECT, related_name="releases"
    )
    number = models.PositiveIntegerField(null=True, editable=False)
    upload = models.ForeignKey(Upload, on_delete=models.PROTECT, related_name="releases")
    title = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    mechanism = models.CharField(max_length=60, editable=False)
    request = DeclaredField(ReleaseRequest)
    layers = models.ManyToManyField(
        PublicLayer,
        related_name="releases",
        blank=True,
        editable=False,
        help_text="The declared layers that the parameters name.",
    )
    notion = models.CharField(
        max_length=10, choices=NotionChoice.choices, default=NotionChoice.PURE_DP
    )
    delta_exponent = models.PositiveSmallIntegerField(
        null=True, editable=False, help_text="Rho is stated at a delta of 10 to minus this."
    )
    cost_units = models.BigIntegerField(help_text="In whole units of the notion.")
    total_units = models.BigIntegerField(
        help_text="The dataset's total budget when this was requested, which the release states."
    )
    points_total_units = models.BigIntegerField(
        null=True,
        help_text="The total budget for points then, in its own units; none was declared.",
    )
    bound = models.PositiveIntegerField(
        default=1, help_text="The bound that was asked for, and then that of the draw."
    )
    drawn_bound = models.PositiveIntegerField(
        null=True,
        editable=False,
        help_text="The bound that was chosen, stored before anything else is drawn.",
    )
    notes = models.JSONField(
        default=list,
        blank=True,
        help_text="The publisher's words at positions on the map, as in releases.notes.",
    )
    notes_sha256 = models.CharField(max_length=64, blank=True, editable=False)
    card = models.JSONField(
        default=dict,
        blank=True,
        editable=False,
        help_text="What lists show of the map, as in pages.cards.",
    )
    files_made = models.PositiveIntegerField(
        default=0, editable=False, help_text="How many of its files were made on request."
    )
    publish_when_done = models.BooleanField(default=False)
    all_files = models.BooleanField(
        default=False,
        help_text="Whether its files are made when it is published, not when somebody asks.",
    )
    state = models.CharField(
        max_length=10, choices=ReleaseState.choices, default=ReleaseState.DRAFT
    )
    job = models.OneToOneField(Job, on_delete=models.PROTECT, related_name="release")
    salt = models.BinaryField(max_length=16, editable=False)
    by_key = models.BooleanField(
        default=False,
        editable=False,
        help_text="Asked for by a program, which sees no totals: paid once the data are opened.",
    )
    blob_name = models.CharField(max_length=255, blank=True, editable=False)
    blob_sha256 = models.CharField(max_length=64, blank=True, editable=False)
    day = models.DateField(
        default=today,
        editable=False,
        help_text="In UTC, of its publication; of its request while it is a draft.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    published_at = models.DateTimeField(null=True, blank=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    rejected_at = models.DateTimeField(null=True, blank=True)
    rejection = models.TextField(
        blank=True, help_text="Why this draft was not published. Seen by members alone."
    )

    class Meta:
        ordering = ["-created_at"]
        indexes = [
            models.Index(fields=["state", "-day", "-id"], name="release_newest_first"),
            # The catalogue counts maps from this index alone.
            models.Index(fields=["state", "dataset", "mechanism"], name="release_by_dataset"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=ReleaseState.values), name="release_state_is_known"
            ),
            models.CheckConstraint(
                condition=models.Q(blob_name="", blob_sha256="")
                | (~models.Q(blob_name="") & ~models.Q(blob_sha256="")),
                name="release_blob_named_with_its_checksum",
            ),
            models.CheckConstraint(
                condition=models.Q(state=ReleaseState.DRAFT) | ~models.Q(blob_name=""),
                name="release_public_only_with_a_blob",
            ),
            models.CheckConstraint(
                condition=models.Q(state=ReleaseState.REJECTED, rejected_at__isnull=False)
                & ~models.Q(rejection="")
                | ~models.Q(state=ReleaseState.REJECTED)
                & models.Q(rejected_at__isnull=True, rejection=""),
                name="release_rejected_with_a_reason",
            ),
            models.CheckConstraint(
                condition=models.Q(cost_units__gt=0), name="release_cost_positive"
            ),
            models.CheckConstraint(
                condition=models.Q(notion=Notion.ZCDP.value, delta_exponent__isnull=False)
                | ~models.Q(notion=Notion.ZCDP.value) & models.Q(delta_exponent__isnull=True),
                name="release_of_rho_has_a_delta",
            ),
            models.CheckConstraint(condition=models.Q(bound__gte=1), name="release_bound_positive"),
            models.UniqueConstraint(fields=["series", "number"], name="release_once_per_period"),
            models.CheckConstraint(
                condition=models.Q(series=None, number=None)
                | models.Q(series__isnull=False, number__gte=1),
                name="release_of_a_series_has_a_number",
            ),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def rules(self) -> StateRules:
        """Who may see the release and what can be done with it, in its current state."""
        return STATES[ReleaseState(self.state)]

    @property
    def epsilon(self) -> Fraction:
        """The release's epsilon: per metre for perturbed points, and at `delta` for a rho."""
        return self.cost.epsilon

    @property
    def shown_bound(self) -> int:
        """The contribution bound for documents that do not say whether the map is drawn.

        A bound that was chosen privately is shown only once the release is published: its
        appearance would tell API keys that the job has ended. Until then, the largest bound that
        could be chosen is shown.
        """
        return self.bound if self.rules.public else self.request.bound

    @property
    def delta(self) -> Fraction | None:
        """The delta at which a rho is stated as an epsilon; None unless the cost is a rho."""
        return None if self.delta_exponent is None else exponent_delta(self.delta_exponent)

    @property
    def cost(self) -> Guarantee:
        """The release's cost, which is also its guarantee."""
        notion = Notion(self.notion)
        amount = from_units(notion, self.cost_units)
        return guarantee(notion, amount, Unit(self.dataset.unit), self.delta)

    @property
    def of_household(self) -> Fraction | None:
        """The epsilon by which the persons of a household together are protected.

        Under zCDP it holds at `delta`. For a household of 1 it is the epsilon of a person.
        It is None for perturbed points, which do not hide presence.
        """
        cost = self.cost
        return None if isinstance(cost, GeoInd) else protected_at(cost, self.request.household)[0]

    @property
    def ledger(self) -> Ledger:
        """The ledger that pays for the release."""
        return ledger_for(self.dataset.ledger, Notion(self.notion))

    @property
    def paying_job(self) -> uuid.UUID:
        """The id of the debit that pays for the release: its job, or its series."""
        if self.series is not None and self.series.is_paid_once:
            return self.series.pk
        return self.job_id

    @property
    def covers(self) -> tuple[datetime.date | None, datetime.date | None]:
        """The first and the last day that the release covers, each None if it is open.

        These are the days of the release's window or, without a window, the days declared for the
        dataset.
        """
        window = self.request.window
        if window is not None:
            return window.first, window.last
        return self.dataset.covers_from, self.dataset.covers_until

    @property
    def cost_words(self) -> str:
        """The release's cost in words, such as "epsilon 0.5" or "level ln 4 within 200 m".

        If the budget is in rho, they name both the epsilon and the rho.
        """
        ledger = self.ledger
        words = ledger.words(ledger.price(self.cost))
        if ledger.notion == self.notion:
            return words
        return f"epsilon {format_epsilon(self.epsilon)}, {words}"


class ReleaseFile(models.Model):
    """A file of a release, made from the release's blob by a deterministic function.

    Files that the site itself reads are made with the release, all others when somebody first asks
    for them (`releases.file_making`); `job` is the job that makes the file then. Until it is made,
    `stored_name` and `sha256` are empty and there is no `size`; they are set together, once.

    `stored_name` is the file's name in the public storage "releases" if `public`, and otherwise in
    the private storage. If `gzipped`, a compressed copy has the same name with ".gz" appended.
    `sha256` and `size` refer to the uncompressed bytes.
    """

    release = models.ForeignKey(Release, on_delete=models.CASCADE, related_name="files")
    name = models.CharField(max_length=100)
    media_type = models.CharField(max_length=100)
    stored_name = models.CharField(max_length=255, blank=True)
    sha256 = models.CharField(max_length=64, blank=True)
    size = models.BigIntegerField(null=True)
    job = models.OneToOneField(
        Job, null=True, editable=False, on_delete=models.PROTECT, related_name="file"
    )
    gzipped = models.BooleanField(default=False)
    large = models.BooleanField(
        default=False,
        editable=False,
        help_text="Made only when somebody asks, even if all files are made at publication.",
    )
    public = models.BooleanField(default=False, editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["release", "name"], name="file_once_per_release"),
            models.CheckConstraint(
                condition=models.Q(stored_name="", sha256="", size=None, public=False)
                | ~models.Q(stored_name="") & ~models.Q(sha256="") & models.Q(size__isnull=False),
                name="file_made_with_its_checksum",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def kind(self) -> FileKind:
        """The file's format, use and layer, derived from its name."""
        return file_kind(self.name)

    @property
    def is_made(self) -> bool:
        """Whether the file is stored; otherwise it is made when somebody asks for it."""
        return bool(self.stored_name)
