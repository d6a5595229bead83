"""What owners state about the processing of their data: who does it, why, by what law, how long."""

from __future__ import annotations

from dpgeo.accounts.models import User
from dpgeo.accounts.selectors import may
from dpgeo.core.errors import InvalidInput, NotAllowed
from dpgeo.datasets.models import DataProtection, Dataset, LegalBasis
from dpgeo.datasets.texts import clean_text
from dpgeo.phrases import listed

LONGEST = 5_000
LONGEST_LINE = 300


def data_protection_set(
    *,
    dataset: Dataset,
    by: User,
    controller: object,
    purpose: object,
    basis: str,
    retention: object,
    contact: object,
    basis_detail: object = "",
) -> DataProtection:
    """Store the public statement on the processing of a dataset.

    Raises NotAllowed, or InvalidInput with the name of the field.
    """
    if not may(by, dataset, "edit"):
        raise NotAllowed("Only the stewards of this dataset may do this.")
    if basis not in LegalBasis.values:
        raise InvalidInput(
            "Choose the legal basis from {known}.", known=listed(LegalBasis.values), field="basis"
        )
    lines = {"controller": controller, "contact": contact}
    texts = {"purpose": purpose, "retention": retention}
    facts = {
        **{
            name: clean_text(text, field=name, longest=LONGEST_LINE, required=True)
            for name, text in lines.items()
        },
        **{
            name: clean_text(text, field=name, longest=LONGEST, required=True)
            for name, text in texts.items()
        },
        "basis_detail": clean_text(basis_detail, field="basis_detail", longest=LONGEST),
    }
    stored, _ = DataProtection.objects.update_or_create(
        dataset=dataset, defaults={**facts, "basis": basis}
    )
    return stored


def data_protection_of(dataset: Dataset) -> DataProtection | None:
    """Return the public statement on the processing of a dataset, or None if there is none yet."""
    return DataProtection.objects.filter(dataset=dataset).first()
