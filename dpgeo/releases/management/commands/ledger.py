"""`python manage.py ledger SLUG`: the ledger of a dataset as CSV, for its stewards' records."""

from __future__ import annotations

import csv
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from dpgeo.core.epsilon import format_epsilon, from_micro
from dpgeo.datasets.models import Dataset

COLUMNS = ("at", "kind", "epsilon", "what", "who", "job")


class Command(BaseCommand):
    help = "Writes every debit and refund of a dataset's budget as CSV, oldest first. Private."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("dataset", metavar="SLUG")

    def handle(self, *args: Any, **options: Any) -> None:
        dataset = Dataset.objects.filter(slug=options["dataset"]).select_related("ledger").first()
        if dataset is None:
            raise CommandError(f"SLUG: There is no dataset {options['dataset']!r}.")
        writer = csv.writer(self.stdout, lineterminator="\n")
        writer.writerow(COLUMNS)
        for entry in dataset.ledger.entries.order_by("id").iterator():
            epsilon = format_epsilon(from_micro(entry.micro))
            words = [as_text(text) for text in (entry.what, entry.who)]
            writer.writerow([entry.at.isoformat(), entry.kind, epsilon, *words, entry.job])


def as_text(value: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{value}" if value[:1] in {"=", "+", "-", "@", "\t", "\r"} else value
