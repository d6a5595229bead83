"""Draft of a data protection impact assessment, filled in from declarations, ledger and releases.

Its parts follow Article 35(7) GDPR: the processing and its purpose, whether it is necessary, the
risks, and the measures against them. Questions that only people can answer are left open and
marked. The draft contains no row and no number of rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext

from dpgeo.accounts.models import Membership, Role
from dpgeo.budgets.models import Ledger
from dpgeo.budgets.selectors import points_ledger
from dpgeo.core.guarantees import Unit
from dpgeo.datasets.data_protection import dataset_data_protection
from dpgeo.datasets.models import Dataset
from dpgeo.ingest.schema import Role as ColumnRole
from dpgeo.mechanisms.registry import find_mechanism
from dpgeo.pages.rendering import say
from dpgeo.releases.models import Release
from dpgeo.releases.oversight import oversight_findings
from dpgeo.releases.promises import promise_of
from dpgeo.releases.states import PUBLIC

OPEN = "…"
"""Text that marks a place where people have to fill something in."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; level 1 is the largest below the title."""

    text: str
    level: int = 1


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose first row is a heading."""

    rows: Sequence[Sequence[str]]


Part = Heading | Paragraph | Table


def assessment_parts(dataset: Dataset) -> list[Part]:
    """Return the parts of the assessment of a dataset, in the language of the page."""
    return [*_processing(dataset), *_necessity(dataset), *_risks(dataset), *_measures(dataset)]


def _processing(dataset: Dataset) -> Iterator[Part]:
    stated = dataset_data_protection(dataset)
    yield Heading(gettext("1. What is done, and why"))
    facts = [
        (gettext("Dataset"), dataset.title),
        (gettext("Description"), dataset.description or OPEN),
        (gettext("Who"), stated.controller if stated else str(dataset.organisation)),
        (gettext("Why"), stated.purpose if stated else OPEN),
        (gettext("Legal basis"), gettext(stated.get_basis_display()) if stated else OPEN),
        (gettext("Law or details"), (stated.basis_detail if stated else "") or OPEN),
        (gettext("How long the rows are kept"), stated.retention if stated else OPEN),
        (gettext("Contact"), stated.contact if stated else dataset.contact_address or OPEN),
        (gettext("What is read"), _read(dataset)),
        (gettext("Members with access to the desk"), _members(dataset)),
    ]
    yield Table([(gettext("Question"), gettext("Answer")), *facts])
    yield Paragraph(
        gettext(
            "From these rows, maps are made to which random noise is added. No row and no figure "
            "without noise is published."
        )
    )


def _read(dataset: Dataset) -> str:
    """Return the names of the columns that are read, as the owner confirmed them."""
    declared = dataset.columns or {}
    # What the owner confirmed also holds formats, which are not names of columns.
    names = [declared[role] for role in ColumnRole if declared.get(role)]
    names += [each.column for each in dataset.attributes]
    names += [each.column for each in dataset.measured]
    names += [each.column for each in dataset.categorised]
    return ", ".join(dict.fromkeys(names)) or OPEN


def _members(dataset: Dataset) -> str:
    members = Membership.objects.filter(organisation=dataset.organisation_id)
    counted = {role: members.filter(role=role).count() for role in Role}
    words = [f"{gettext(str(role.label)).split(':')[0]}: {n}" for role, n in counted.items() if n]
    return ", ".join(words) or OPEN


def _necessity(dataset: Dataset) -> Iterator[Part]:
    yield Heading(gettext("2. Whether it is necessary and proportionate"))
    yield Paragraph(gettext("To be judged by the controller: could the purpose be met with less?"))
    yield Paragraph(OPEN)
    yield Paragraph(
        gettext("Only the columns above are used. Uploaded files are kept for a while.")
        if dataset.keep_raw
        else gettext(
            "Only the columns above are stored. Identifiers are replaced by keyed hashes when a "
            "file is read, and the file is then deleted."
        )
    )


def _risks(dataset: Dataset) -> Iterator[Part]:
    yield Heading(gettext("3. Risks for the people in the data"))
    yield Paragraph(
        gettext(
            "Somebody could try to find out from the maps whether a person is in the data, or "
            "where the person was. The promises below hold whatever else is known about everybody."
        )
    )
    for release in _releases(dataset):
        promise = promise_of(release)
        yield Paragraph(f"{release.title}: {say(promise.lead)} {say(promise.body)}")
    yield Heading(gettext("What needs a second look"), 2)
    found = [each for each in oversight_findings(dataset.organisation) if each.dataset == dataset]
    for finding in found:
        yield Paragraph(say(finding.words))
    if not found:
        yield Paragraph(gettext("The software found nothing."))
    yield Heading(gettext("Risks that the software cannot know"), 2)
    yield Paragraph(OPEN)


def _releases(dataset: Dataset) -> list[Release]:
    """Return the releases that were published, oldest first."""
    known = dataset.releases.exclude(published_at=None).order_by("published_at")
    return list(known.select_related("dataset__ledger"))


def _measures(dataset: Dataset) -> Iterator[Part]:
    yield Heading(gettext("4. What is done against them"))
    if dataset.unit == Unit.PERSON.value:
        protects = gettext("Each person is protected with all their rows together.")
    else:
        protects = gettext("Each row is protected by itself, not all rows of a person together.")
    yield Paragraph(protects)
    yield Heading(gettext("Budget of these people"), 2)
    points = points_ledger(dataset.ledger)
    titles = (gettext("Budget"), gettext("Total"), gettext("Spent"), gettext("Left"))
    yield Table([titles, *(_budget(each) for each in (dataset.ledger, points) if each)])
    sharing = [each.title for each in dataset.ledger.datasets.exclude(pk=dataset.pk)]
    if sharing:
        yield Paragraph(gettext("Shared with: {titles}").format(titles=", ".join(sharing)))
    yield Heading(gettext("Maps"), 2)
    rows = [
        (
            release.title,
            gettext(find_mechanism(release.mechanism).title),
            say(release.ledger.phrase(release.ledger.price(release.cost))),
            f"{release.day:%Y-%m-%d}",
            gettext(release.get_state_display()),
        )
        for release in dataset.releases.exclude(blob_name="").order_by("created_at")
    ]
    if rows:
        head = (gettext("Map"), gettext("Method"), gettext("Cost"), gettext("Day"))
        yield Table([(*head, gettext("State")), *rows])
    else:
        yield Paragraph(gettext("None yet."))
    if any(release.state in PUBLIC for release in _releases(dataset)):
        yield Paragraph(
            gettext(
                "The statement of each published map, which anybody can check, says exactly what "
                "was drawn and promised."
            )
        )
    yield Heading(gettext("Rights of the people"), 2)
    yield Paragraph(
        gettext(
            "A person can be erased from the rows, and their rows are then refused in later "
            "uploads. Published maps do not change: they contain no rows."
        )
    )
    yield Heading(gettext("Decision"), 2)
    yield Table(
        [
            (gettext("Advice of the data protection officer"), gettext("Day and signature")),
            (OPEN, OPEN),
            (gettext("Decision of the controller"), gettext("Day and signature")),
            (OPEN, OPEN),
        ]
    )


def _budget(ledger: Ledger) -> tuple[str, str, str, str]:
    amounts = (ledger.lifetime_units, ledger.spent_units, ledger.left_units)
    total, spent, left = (say(ledger.phrase(units)) for units in amounts)
    return gettext(str(ledger.get_notion_display())), total, spent, left
