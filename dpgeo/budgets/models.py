"""The privacy ledger: append-only entries in integer micro-epsilon, with limits the database keeps.

One ledger serves all datasets that share people. `spent_micro` is kept by conditional updates in
the same transaction as the entry, so it always equals the sum of the entries.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NoReturn

from django.db import models

from dpgeo.core.epsilon import format_epsilon, from_micro


class Ledger(models.Model):
    """A privacy budget for one set of people, over the whole life of their data."""

    name = models.CharField(max_length=200)
    total_micro = models.BigIntegerField(help_text="Total budget in millionths of epsilon.")
    spent_micro = models.BigIntegerField(default=0, editable=False)
    promised_at = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text="First publication that rests on the total; from then on it is never raised.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(spent_micro__gte=0), name="ledger_spent_not_negative"
            ),
            models.CheckConstraint(
                condition=models.Q(spent_micro__lte=models.F("total_micro")),
                name="ledger_never_overspent",
            ),
            models.CheckConstraint(
                condition=models.Q(total_micro__gt=0), name="ledger_total_positive"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def total(self) -> Fraction:
        """The whole budget, exact."""
        return from_micro(self.total_micro)

    @property
    def spent(self) -> Fraction:
        """What is spent or held by running jobs, exact."""
        return from_micro(self.spent_micro)

    @property
    def left(self) -> Fraction:
        """What is not yet spent or held, exact."""
        return self.total - self.spent


class EntryKind(models.TextChoices):
    """A debit is taken when a job is accepted; a refund only where no noise was drawn."""

    DEBIT = "debit", "Debit"
    REFUND = "refund", "Refund"


class EntryQuerySet(models.QuerySet["Entry"]):
    """Entries can be added and read."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("The ledger is append-only: entries are never changed or deleted.")

    update = delete = bulk_update = _refuse


class Entry(models.Model):
    """One line of the ledger. Never changed and never deleted.

    The model and its manager refuse; a trigger (migration 0002) refuses changes by other means.
    """

    ledger = models.ForeignKey(Ledger, on_delete=models.PROTECT, related_name="entries")
    job = models.UUIDField(help_text="The job that was paid for.")
    kind = models.CharField(max_length=10, choices=EntryKind.choices)
    micro = models.BigIntegerField(help_text="Signed millionths of epsilon; refunds are negative.")
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
                condition=models.Q(kind=EntryKind.DEBIT, micro__gt=0)
                | models.Q(kind=EntryKind.REFUND, micro__lt=0),
                name="entry_sign_fits_kind",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.what}: {format_epsilon(self.epsilon)}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Add the entry. Raises TypeError if it is in the ledger already."""
        if not self._state.adding:
            raise TypeError("The ledger is append-only: entries are never changed.")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse, always."""
        raise TypeError("The ledger is append-only: entries are never deleted.")

    @property
    def epsilon(self) -> Fraction:
        """What was taken, exact; below zero where it was given back."""
        return from_micro(self.micro)
