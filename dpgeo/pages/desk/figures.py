"""Budget bars on the desk."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from django.db.models import Q
from django.utils.translation import gettext

from dpgeo.budgets.models import Ledger, NotionChoice
from dpgeo.datasets.models import Dataset
from dpgeo.jobs.models import UNFINISHED, Job

MAX_FUTURE_RELEASES = 12
"""Largest number of future releases shown as dashes in a budget bar; more would blur together."""


@dataclass(frozen=True, slots=True)
class Budget:
    """A ledger drawn as a bar: widths in per cent of the total epsilon, and the exact epsilons."""

    total: Fraction
    left: Fraction
    spent: list[float]
    held: float
    held_epsilon: Fraction
    future: list[float]
    more: int | None
    """How many more releases like the last one the budget pays for; None before the first."""

    @property
    def more_words(self) -> str:
        """Return a phrase that says how many more releases like the last one fit."""
        if not self.total:
            return gettext("no budget yet")
        if self.more is None:
            return gettext("the whole budget") if self.left == self.total else gettext("no map yet")
        if self.more == 0:
            return gettext("too little for one like the last")
        return gettext("about {number} more like the last").format(number=self.more)

    @property
    def short(self) -> bool:
        """Whether too little budget is left for another release like the last one."""
        return self.more == 0


def dataset_budget(dataset: Dataset, ledger: Ledger | None = None) -> Budget:
    """Return the bar for a dataset's budget, by default for its ledger for counts.

    For a shared ledger, the bar shows the spending of all its datasets. The number of further
    releases that fit is computed from the last release of `dataset`.
    """
    ledger = ledger or dataset.ledger
    paid = net_by_job(ledger)
    running = set(
        Job.objects.filter(id__in=paid, state__in=UNFINISHED).values_list("id", flat=True)
    )
    # A budget for counts pays for all releases but points. If it is in rho, it pays for releases
    # with a pure epsilon, too.
    points = ledger.radius is not None
    notion = Q(notion=NotionChoice.GEO_IND)
    last = dataset.releases.filter(notion if points else ~notion).order_by("-created_at").first()
    price = ledger.price(last.cost) if last else 0
    more = ledger.left_units // price if price else None
    held_units = sum(units for job, units in paid.items() if job in running)

    def width(units: int) -> float:
        return round(100 * units / max(ledger.lifetime_units, 1), 3)

    return Budget(
        total=ledger.total,
        left=ledger.epsilon_left(),
        spent=[width(units) for job, units in paid.items() if job not in running],
        held=width(held_units),
        held_epsilon=ledger.epsilon_of(held_units),
        future=[width(price)] * min(more or 0, MAX_FUTURE_RELEASES),
        more=more,
    )


def net_by_job(ledger: Ledger) -> dict[object, int]:
    """Return what each job spent after refunds, in the ledger's units, oldest first.

    Jobs that were refunded in full are left out.
    """
    entries = ledger.entries.order_by("id").values_list("job", "units")
    net: dict[object, int] = {}
    for job, units in entries:
        net[job] = net.get(job, 0) + units
    return {job: units for job, units in net.items() if units > 0}
