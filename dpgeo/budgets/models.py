"""Privacy ledgers: append-only entries in whole units, limited by the database.

Datasets about the same people share one ledger for each notion of privacy. Its amounts are whole
units: millionths of epsilon or, for perturbed points, pico-epsilon per metre
(`core.guarantees.SCALE`). A conditional update changes `spent_units` in the same transaction that
adds the entry, so `spent_units` always equals the sum of the entries. Ledgers can be merged
(`budgets.merging`); draws of datasets that a restored database does not know are debited to ledgers
of their own.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NoReturn

from django.db import models

from dpgeo.core.epsilon import format_epsilon
from dpgeo.core.guarantees import Notion, from_units
from dpgeo.core.levels import level_text, remaining_level_text
from dpgeo.phrases import Figure, Phrase
from dpgeo.spatial.ground_grid import grid_step


class NotionChoice(models.TextChoices):
    """Notions of privacy; the values are those of `core.guarantees.Notion`."""

    PURE_DP = Notion.PURE_DP.value, "Presence: differential privacy"
    GEO_IND = Notion.GEO_IND.value, "Whereabouts: geo-indistinguishability"


class Ledger(models.Model):
    """A privacy budget for one set of people, over the whole life of their data.

    In a budget for points, `beside` is the budget for counts of the same people, so datasets that
    share the one also share the other. `radius` is the distance in metres within which the
    levels of a points budget hold, and is never changed. `input_step` is the largest step, in
    millimetres, of the grids to which positions are snapped before they are perturbed. `beside`,
    `radius` and `input_step` are null in a budget for counts.

    `merged_into` is the ledger in which this one is continued; it is then closed. A ledger with
    `recovers` adds up draws of an unknown dataset, has no limit, and pays for nothing new.
    """

    name = models.CharField(max_length=200)
    notion = models.CharField(
        max_length=10, choices=NotionChoice.choices, default=NotionChoice.PURE_DP, editable=False
    )
    beside = models.OneToOneField(
        "self", null=True, editable=False, on_delete=models.CASCADE, related_name="geo"
    )
    radius = models.PositiveIntegerField(null=True, editable=False)
    input_step = models.PositiveIntegerField(null=True, editable=False)
    total_units = models.BigIntegerField(
        help_text="Total budget in whole units of the notion; 0 until somebody has set it."
    )
    spent_units = models.BigIntegerField(default=0, editable=False)
    promised_at = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text="First publication that rests on the total; from then on it is never raised.",
    )
    merged_into = models.ForeignKey(
        "self", null=True, editable=False, on_delete=models.PROTECT, related_name="merged"
    )
    merged_units = models.BigIntegerField(
        default=0,
        editable=False,
        help_text="What was debited when ledgers were merged, if that is more than the total.",
    )
    recovers = models.CharField(
        max_length=80,
        blank=True,
        editable=False,
        help_text="Slug of the unknown dataset whose draws were found after a restore.",
    )
    recovers_for = models.CharField(
        max_length=200, blank=True, editable=False, help_text="The publisher that such draws name."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(spent_units__gte=0), name="ledger_spent_not_negative"
            ),
            models.CheckConstraint(
                condition=models.Q(spent_units__lte=models.F("total_units"))
                | models.Q(spent_units__lte=models.F("merged_units"))
                | ~models.Q(recovers=""),
                name="ledger_never_overspent",
            ),
            models.UniqueConstraint(
                fields=["recovers", "notion"],
                condition=~models.Q(recovers=""),
                name="ledger_once_per_unknown_dataset",
            ),
            models.CheckConstraint(
                condition=models.Q(merged_into__isnull=True) | models.Q(spent_units=0),
                name="ledger_merged_is_closed",
            ),
            models.CheckConstraint(
                condition=models.Q(total_units__gte=0), name="ledger_total_not_negative"
            ),
            models.CheckConstraint(
                condition=models.Q(
                    notion=Notion.PURE_DP.value, beside__isnull=True, radius__isnull=True
                )
                | models.Q(notion=Notion.GEO_IND.value, beside__isnull=False, radius__gt=0),
                name="ledger_for_points_beside_another",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def snapping(self) -> int:
        """Return the largest step, in millimetres, of grids to which positions are snapped.

        Only a budget for points has one. `input_step` is null if a process of an earlier
        version created the ledger during an upgrade; the step is then the one that version used.
        """
        return self.input_step or 1000 * grid_step(self.radius or 0)

    @property
    def lifetime_units(self) -> int:
        """Return the most that is ever spent on these people: the budget, or more after a merger.

        It is no less when something is refunded after the merger, so that no private debit shows.
        """
        return max(self.total_units, self.merged_units)

    @property
    def left_units(self) -> int:
        """Return what is neither spent nor reserved, in whole units."""
        return max(self.total_units - self.spent_units, 0)

    @property
    def total(self) -> Fraction:
        """Return the lifetime figure, exactly: epsilon, or epsilon per metre."""
        return self.epsilon_of(self.lifetime_units)

    @property
    def spent(self) -> Fraction:
        """Return what is spent or reserved by unfinished jobs, exactly."""
        return self.epsilon_of(self.spent_units)

    @property
    def left(self) -> Fraction:
        """Return what is neither spent nor reserved, exactly."""
        return self.epsilon_of(self.left_units)

    def epsilon_of(self, units: int) -> Fraction:
        """Convert whole units of this ledger to epsilon, or to epsilon per metre."""
        return from_units(Notion(self.notion), units)

    def amount(self, units: int) -> str:
        """Format whole units as an epsilon ("0.5") or as a level within the radius ("ln 4")."""
        if self.radius is None:
            return format_epsilon(self.epsilon_of(units))
        sign = "-" if units < 0 else ""
        return sign + level_text(abs(units), self.radius)

    def rest(self, units: int) -> str:
        """Format unspent units as an amount that can be requested: "0.5", "ln 4"."""
        if self.radius is None or units < 0:
            return self.amount(units)
        return remaining_level_text(units, self.radius)

    @property
    def left_words(self) -> str:
        """Format the unspent amount."""
        return self.rest(self.left_units)

    def words(self, units: int) -> str:
        """Format whole units with their measure: "epsilon 0.5", "level ln 4 within 200 m"."""
        return str(self.phrase(units))

    def phrase(self, units: int) -> Phrase:
        """Return `words` as a phrase that can be translated."""
        if self.radius is None:
            return Phrase("epsilon {epsilon}", epsilon=Figure(self.amount(units)))
        return Phrase(
            "level {level} within {radius:,} m",
            level=Figure(self.amount(units)),
            radius=self.radius,
        )


class EntryKind(models.TextChoices):
    """Kinds of entry: a debit when a job is accepted, a refund if it ends without noise, a merger.

    A merger is entered twice: with what the merged ledger had spent, and with the negative of it.
    """

    DEBIT = "debit", "Debit"
    REFUND = "refund", "Refund"
    MERGER = "merger", "Merger"


class EntryQuerySet(models.QuerySet["Entry"]):
    """A queryset of entries that can be added and read, not changed."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("The ledger is append-only: entries are never changed or deleted.")

    update = delete = bulk_update = _refuse


class Entry(models.Model):
    """One entry of the ledger, never changed and never deleted.

    The model and its manager refuse changes and deletion. A database trigger, created by the
    migrations, refuses changes by any other means.
    """

    ledger = models.ForeignKey(Ledger, on_delete=models.PROTECT, related_name="entries")
    job = models.UUIDField(help_text="The job that was paid for; a random id for a merger.")
    kind = models.CharField(max_length=10, choices=EntryKind.choices)
    units = models.BigIntegerField(
        help_text="Signed whole units of the ledger; refunds are negative."
    )
    what = models.CharField(max_length=300)
    who = models.CharField(max_length=200, blank=True)
    at = models.DateTimeField(auto_now_add=True)

    objects = EntryQuerySet.as_manager()

    class Meta:
        ordering = ["-at", "-id"]
        verbose_name_plural = "entries"
        constraints = [
            models.UniqueConstraint(fields=["job", "kind"], name="entry_once_per_job_and_kind"),
            models.CheckConstraint(
                condition=models.Q(kind=EntryKind.DEBIT, units__gt=0)
                | models.Q(kind=EntryKind.REFUND, units__lt=0)
                | models.Q(kind=EntryKind.MERGER),
                name="entry_sign_fits_kind",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.what}: {self.ledger.words(self.units)}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Add the entry. Raises TypeError if it exists already."""
        if not self._state.adding:
            raise TypeError("The ledger is append-only: entries are never changed.")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise TypeError always."""
        raise TypeError("The ledger is append-only: entries are never deleted.")

    @property
    def epsilon(self) -> Fraction:
        """Return the amount, exactly; negative for a refund."""
        return self.ledger.epsilon_of(self.units)

    @property
    def cost_words(self) -> str:
        """Format the amount with its measure."""
        return self.ledger.words(self.units)
