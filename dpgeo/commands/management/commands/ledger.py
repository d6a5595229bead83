"""`python manage.py ledger SLUG`: print a dataset's ledger as CSV, for its stewards."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from dpgeo.budgets.export import write_entries
from dpgeo.datasets.models import Dataset


class Command(BaseCommand):
    help = "Writes every debit and refund of a dataset's budget as CSV, oldest first. Private."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("dataset", metavar="SLUG")

    def handle(self, *args: Any, **options: Any) -> None:
        dataset = Dataset.objects.filter(slug=options["dataset"]).select_related("ledger").first()
        if dataset is None:
            raise CommandError(f"SLUG: There is no dataset {options['dataset']!r}.")
        write_entries(dataset.ledger, self.stdout)
