"""Privacy ledgers: append-only entries in integer units, limited by the database.

Datasets about the same people share one ledger for counts, whose currency is either epsilon or the
rho of zero-concentrated differential privacy (zCDP), and may share another one for perturbed
points. Amounts are integers, in units of a millionth of epsilon, of a billionth of rho or, for
perturbed points, of a pico-epsilon per metre (`core.guarantees.SCALE`). In a ledger for zCDP, every
epsilon that is shown is that of a rho, at the ledger's delta; it is never stored or added up.

`spent_units` is changed by a conditional update in the transaction that adds an entry, so it always
equals the sum of the entries. Ledgers can be merged (`budgets.merging`). If a restored database
lacks a dataset, noise that was drawn for it is debited to a separate ledger.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor
from typing import Any, NoReturn

from django.db import models

from dpgeo.core.epsilon import MICRO, format_epsilon, to_micro
from dpgeo.core.guarantees import SCALE, Guarantee, Notion, Unit, from_units, guarantee, units_in
from dpgeo.core.levels import level_text, remaining_level_text
from dpgeo.core.zcdp import delta_text, epsilon_at, exponent_delta, nano_rho_for
from dpgeo.phrases import Figure, Phrase


class NotionChoice(models.TextChoices):
    """Notion of privacy, with the values of `core.guarantees.Notion`."""

    PURE_DP = Notion.PURE_DP.value, "Presence: differential privacy"
    ZCDP = Notion.ZCDP.value, "Presence: zero-concentrated differential privacy"
    GEO_IND = Notion.GEO_IND.value, "Whereabouts: geo-indistinguishability"


class Ledger(models.Model):
    """A privacy budget for one set of people, over the whole life of their data.

    Three fields are used only in a budget for points, and are null in a budget for counts. `beside`
    is the budget for counts of the same people, so datasets that share one of the two budgets also
    share the other. `radius` is the distance in metres within which the budget's levels hold; it
    never changes. `input_step` is the largest step, in millimetres, of the grids to which positions
    are snapped before they are perturbed.

    Two fields are used only in a budget for counts under zCDP, and are null in all others. Rho is
    shown as an epsilon at the delta of 10^-`delta_exponent`. `population` is the publicly declared
    number of people whom the data might be about; delta is at most 0.1/`population`.

    `merged_into` is the ledger into which this ledger was merged; this ledger is then closed. If
    `recovers` is set, the ledger adds up draws from a dataset that the database lacks; its total
    equals these draws, so nothing new can be paid from it.
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
    delta_exponent = models.PositiveSmallIntegerField(null=True, editable=False)
    population = models.PositiveBigIntegerField(null=True, editable=False)
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
                | models.Q(spent_units__lte=models.F("merged_units")),
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
                    notion__in=[Notion.PURE_DP.value, Notion.ZCDP.value],
                    beside__isnull=True,
                    radius__isnull=True,
                )
                | models.Q(
                    notion=Notion.GEO_IND.value,
                    beside__isnull=False,
                    radius__isnull=False,
                    radius__gt=0,
                    input_step__isnull=False,
                    input_step__gt=0,
                ),
                name="ledger_for_points_beside_another",
            ),
            models.CheckConstraint(
                condition=models.Q(notion=Notion.ZCDP.value, delta_exponent__isnull=False)
                | ~models.Q(notion=Notion.ZCDP.value)
                & models.Q(delta_exponent__isnull=True, population__isnull=True),
                name="ledger_of_rho_has_a_delta",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def snapping(self) -> int:
        """The `input_step` of a budget for points; 0 in a budget for counts."""
        return self.input_step or 0

    @property
    def lifetime_units(self) -> int:
        """The most units that can ever be spent: the total or, if more, all debits before a merger.

        A refund after the merger does not reduce this amount, since that would reveal a private
        debit.
        """
        return max(self.total_units, self.merged_units)

    @property
    def left_units(self) -> int:
        """The amount, in ledger units, that is neither spent nor reserved by unfinished jobs."""
        return max(self.total_units - self.spent_units, 0)

    @property
    def is_zcdp(self) -> bool:
        """Whether the ledger counts in rho."""
        return self.notion == Notion.ZCDP.value

    @property
    def delta(self) -> Fraction | None:
        """The delta at which rho is shown as epsilon; None in a ledger of another notion."""
        return None if self.delta_exponent is None else exponent_delta(self.delta_exponent)

    @property
    def delta_text(self) -> str:
        """The delta as text, such as "1e-9"; "" unless the ledger counts in rho."""
        return "" if self.delta is None else delta_text(self.delta)

    @property
    def total(self) -> Fraction:
        """The most that can ever be spent, as an epsilon (see `epsilon_of`)."""
        return self.epsilon_of(self.lifetime_units)

    @property
    def spent(self) -> Fraction:
        """The spent amount, with what unfinished jobs reserve, as an epsilon (see `epsilon_of`)."""
        return self.epsilon_of(self.spent_units)

    @property
    def left(self) -> Fraction:
        """The amount neither spent nor reserved by jobs, as an epsilon (see `epsilon_of`)."""
        return self.epsilon_of(self.left_units)

    def epsilon_of(self, units: int) -> Fraction:
        """Convert units of this ledger to epsilon or, in a budget for points, to epsilon per metre.

        In a ledger for zCDP, the units are a rho, which is converted at the ledger's delta and
        rounded up. The sum of two such epsilons is not the epsilon of the sum of their rhos.
        """
        if self.delta is None:
            return from_units(Notion(self.notion), units)
        if units == 0:
            return Fraction(0)
        epsilon = epsilon_at(Fraction(abs(units), SCALE[Notion.ZCDP]), self.delta)
        return epsilon if units > 0 else -epsilon

    def epsilon_left(self, units: int = 0) -> Fraction:
        """Return the epsilon that is left after `units` more are paid, for people to read.

        In a ledger for zCDP, the result is rounded down to thousandths. More digits are of no use,
        because there one cannot subtract the epsilon of a release from it.
        """
        left = self.epsilon_of(self.left_units - units)
        if not self.is_zcdp or left == self.total or left < Fraction(1, 100):
            return left
        return Fraction(floor(left * 1000), 1000)

    def units_for(self, epsilon: Fraction) -> int:
        """Return the most units whose epsilon is at most `epsilon`; not for a budget for points.

        It converts the epsilon that a person enters, as a budget's total or as the most that a map
        under zCDP may cost.
        """
        if self.delta is None:
            return to_micro(epsilon)
        return nano_rho_for(epsilon, self.delta)

    def epsilon_within(self, units: int) -> Fraction:
        """Return the largest epsilon, in whole millionths, that `units` of this ledger pay for.

        It may be a millionth less than `epsilon_of` returns, which is rounded up.
        """
        epsilon = self.epsilon_of(units)
        return epsilon if self.units_for(epsilon) <= units else epsilon - Fraction(1, MICRO)

    def pays_for(self, cost: Guarantee) -> bool:
        """Whether a guarantee can be paid in this ledger's currency.

        It can if both have the same notion of privacy. A rho also pays for a pure epsilon.
        """
        return cost.notion == self.notion or (self.is_zcdp and cost.notion is Notion.PURE_DP)

    def price(self, cost: Guarantee) -> int:
        """Return what a guarantee costs in this ledger's units.

        Raises TypeError if the guarantee cannot be paid in the ledger's currency (`pays_for`).
        """
        return units_in(Notion(self.notion), cost)

    def unit_guarantee(self, units: int, unit: Unit) -> Guarantee:
        """Return the guarantee that so many units pay for, in the ledger's notion of privacy."""
        notion = Notion(self.notion)
        return guarantee(notion, from_units(notion, units), unit, self.delta)

    def amount(self, units: int) -> str:
        """Format units as an epsilon ("0.5"), as a rho with its epsilon in brackets, or as a level.

        A level ("ln 4") is the amount in a budget for points.
        """
        if self.radius is not None:
            sign = "-" if units < 0 else ""
            return sign + level_text(abs(units), self.radius)
        epsilon = format_epsilon(self.epsilon_of(units))
        if self.delta is None:
            return epsilon
        return f"rho {self.rho_text(units)} (epsilon {epsilon} at delta {delta_text(self.delta)})"

    def rho_text(self, units: int) -> str:
        """Format units of a ledger for zCDP as a rho, such as "0.015"."""
        return format_epsilon(Fraction(units, SCALE[Notion.ZCDP]))

    def rest(self, units: int) -> str:
        """Format remaining units as an amount that can still be requested, such as "0.5" or
        "ln 4".
        """
        if self.radius is None or units < 0:
            return self.amount(units)
        return remaining_level_text(units, self.radius)

    @property
    def left_words(self) -> str:
        """The remaining amount, as text."""
        return self.rest(self.left_units)

    def words(self, units: int) -> str:
        """Format units in words, such as "epsilon 0.5" or "level ln 4 within 200 m".

        Under zCDP they are like "rho 0.015 (epsilon 1 at delta 1e-9)".
        """
        return str(self.phrase(units))

    def phrase(self, units: int) -> Phrase:
        """Return units in words, such as "epsilon 0.5", as a phrase that can be translated."""
        if self.delta is not None:
            return Phrase(
                "rho {rho} (epsilon {epsilon} at delta {delta})",
                rho=Figure(self.rho_text(units)),
                epsilon=Figure(format_epsilon(self.epsilon_of(units))),
                delta=delta_text(self.delta),
            )
        if self.radius is None:
            return Phrase("epsilon {epsilon}", epsilon=Figure(self.amount(units)))
        return Phrase(
            "level {level} within {radius:,} m",
            level=Figure(self.amount(units)),
            radius=self.radius,
        )


class EntryKind(models.TextChoices):
    """Kind of a ledger entry.

    A debit is made when a job is accepted, and a refund if the job ends without drawing noise. A
    merger has two entries: one in the target ledger with the amount that the source ledger had
    spent, and one in the source ledger with the negative of that amount.
    """

    DEBIT = "debit", "Debit"
    REFUND = "refund", "Refund"
    MERGER = "merger", "Merger"


class EntryQuerySet(models.QuerySet["Entry"]):
    """A queryset of entries, which can be read but not changed or deleted."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("The ledger is append-only: entries are never changed or deleted.")

    update = delete = bulk_update = _refuse


class Entry(models.Model):
    """An entry of a ledger, which is never changed or deleted.

    The model and its manager raise TypeError on changes and deletion. A database trigger, created
    by the migrations, prevents changes by any other means.
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
        """Store a new entry. Raises TypeError if the entry is already stored."""
        if not self._state.adding:
            raise TypeError("The ledger is append-only: entries are never changed.")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise TypeError, since entries are never deleted."""
        raise TypeError("The ledger is append-only: entries are never deleted.")

    @property
    def epsilon(self) -> Fraction:
        """The amount as `Ledger.epsilon_of` converts it; it is negative for a refund."""
        return self.ledger.epsilon_of(self.units)

    @property
    def cost_words(self) -> str:
        """The entry's amount in words."""
        return self.ledger.words(self.units)
