"""What owners state about the processing of their data: who does it, why, by what law, how long."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from dpgeo.accounts.models import User
from dpgeo.accounts.selectors import may
from dpgeo.core.declared import Declared, Labels, Lines, Text
from dpgeo.core.errors import NotAllowed
from dpgeo.datasets.models import DataProtection, Dataset, LegalBasis
from dpgeo.datasets.texts import public_text
from dpgeo.phrases import InvalidValue, listed, translatable


def _read_basis(basis: str) -> str:
    if basis not in LegalBasis.values:
        raise InvalidValue("Choose the legal basis from {known}.", known=listed(LegalBasis.values))
    return basis


class ProcessingDeclaration(Declared):
    """What the owner of a dataset tells the people in it about the processing."""

    controller: Annotated[Text, public_text(300, required=True)] = Field(
        title=translatable("Who"),
        description=translatable("The controller: name and postal address."),
    )
    purpose: Annotated[Text, public_text(5000, required=True), Lines(4)] = Field(
        title=translatable("Why"), description=translatable("What the maps are for.")
    )
    basis: Annotated[Text, AfterValidator(_read_basis), Labels(dict(LegalBasis.choices))] = Field(
        title=translatable("Legal basis")
    )
    basis_detail: Annotated[Text, public_text(5000), Lines(2)] = Field(
        default="",
        title=translatable("Law or details"),
        description=translatable("Such as the section of the law that sets the task."),
    )
    retention: Annotated[Text, public_text(5000, required=True), Lines(2)] = Field(
        title=translatable("How long the rows are kept"),
        description=translatable("Maps contain no rows and stay."),
    )
    contact: Annotated[Text, public_text(300, required=True)] = Field(
        title=translatable("Contact"),
        description=translatable(
            "Where people can ask and object, such as the data protection officer."
        ),
    )


def data_protection_set(*, dataset: Dataset, by: User, **facts: Any) -> DataProtection:
    """Store the public statement on the processing of a dataset.

    Raises NotAllowed, or InvalidInput with the name of the field.
    """
    if not may(by, dataset, "edit"):
        raise NotAllowed("Only the stewards of this dataset may do this.")
    stated = ProcessingDeclaration.read(facts).facts()
    stored, _ = DataProtection.objects.update_or_create(dataset=dataset, defaults=stated)
    return stored


def dataset_data_protection(dataset: Dataset) -> DataProtection | None:
    """Return the public statement on the processing of a dataset, or None if there is none yet."""
    return DataProtection.objects.filter(dataset=dataset).first()
