"""`python manage.py series declare|complete|list|end`: a map for every day, week or month."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand
from django.utils import timezone

from dpgeo.artefacts.series_wording import promised
from dpgeo.commands.console import acting_user, add_options, given_options, plain_errors
from dpgeo.commands.management.commands.release import describe_noise, parse_pairs
from dpgeo.core.epsilon import format_epsilon
from dpgeo.core.errors import InvalidInput
from dpgeo.core.series_request import SeriesRequest
from dpgeo.datasets.models import Dataset
from dpgeo.releases.models import Series
from dpgeo.releases.series import (
    ENDINGS,
    due_periods,
    series_complete,
    series_declare,
    series_end,
    series_forecast,
    series_read,
    series_resume,
)


class Command(BaseCommand):
    help = (
        "Declares a series of maps, one for each day, week or month; says that its data are "
        "complete; ends it. The reaper (`manage.py reap`) draws what is due."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        declare = actions.add_parser("declare", help="Declare a series and pay for it.")
        declare.add_argument("dataset", metavar="SLUG")
        flags = ("publish_when_done", "all_files")
        add_options(declare, SeriesRequest, without=["parameters", *flags])
        declare.add_argument("--param", action="append", default=[], metavar="NAME=VALUE")
        declare.add_argument("--publish", action="store_true", help="Publish each map when done.")
        declare.add_argument(
            "--all-files",
            action="store_true",
            help="Make all files of each map once it is published.",
        )
        declare.add_argument("--dry-run", action="store_true", help="Say what it promises only.")
        declare.add_argument("--user", default="")
        complete = actions.add_parser(
            "complete", help="Say that the data are complete through a day, so maps can be drawn."
        )
        complete.add_argument("series", metavar="ID")
        complete.add_argument("--through", required=True, metavar="DAY")
        complete.add_argument("--user", default="")
        end = actions.add_parser("end", help="End a series: no further map is drawn.")
        end.add_argument("series", metavar="ID")
        end.add_argument("--user", default="")
        resume = actions.add_parser(
            "resume", help="Go on with a series that ended before noise was drawn for a map."
        )
        resume.add_argument("series", metavar="ID")
        resume.add_argument("--user", default="")
        listing = actions.add_parser("list", help="List series, and what is due.")
        listing.add_argument("dataset", metavar="SLUG", nargs="?", default="")

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        with plain_errors({"slug": "SLUG", "series": "ID"}):
            getattr(self, f"_{action}")(**options)

    def _declare(self, **options: Any) -> None:
        dataset = find_dataset(options["dataset"])
        given = given_options(options, SeriesRequest)
        texts = {**given, "publish_when_done": options["publish"]}
        asked = SeriesRequest.read({**texts, "parameters": parse_pairs(options["param"])})
        terms, request = series_read(dataset, asked)
        for sentence in promised(terms):
            self.stdout.write(str(sentence))
        self.stdout.write(describe_noise(series_forecast(dataset, request)))
        if options["dry_run"]:
            self.stdout.write("Dry run: nothing was spent.")
            return
        series = series_declare(dataset=dataset, asked=asked, by=acting_user(options["user"]))
        if options["publish"] and not series.publish_when_done:
            self.stdout.write("Maps will stay drafts: publishing needs the approver's role.")
        self.stdout.write(f"Series {series.pk} is declared.")

    def _complete(self, *, series: str, through: str, user: str, **_: Any) -> None:
        found = series_complete(series=find_series(series), through=through, by=acting_user(user))
        self._show(found)

    def _end(self, *, series: str, user: str, **_: Any) -> None:
        self._show(series_end(series=find_series(series), by=acting_user(user)))

    def _resume(self, *, series: str, user: str, **_: Any) -> None:
        self._show(series_resume(series=find_series(series), by=acting_user(user)))

    def _list(self, *, dataset: str, **_: Any) -> None:
        chosen = Series.objects.select_related("dataset")
        if dataset:
            chosen = chosen.filter(dataset=find_dataset(dataset))
        for series in chosen:
            self._show(series)

    def _show(self, series: Series) -> None:
        self.stdout.write(
            f"{series.pk}  {series.title} ({series.dataset.slug}), a map every {series.period} "
            f"from {series.first_day}, epsilon {format_epsilon(series.terms.epsilon)}"
        )
        if series.ended_at is not None:
            day = timezone.localdate(series.ended_at)
            self.stdout.write(f"  {series.drawn} drawn; ended on {day}: {ENDINGS[series.ending]}")
            return
        said = series.complete_through or "not said yet"
        line = f"  {series.drawn} drawn, {len(due_periods(series))} due; complete through: {said}"
        if series.has_map(series.drawn + 1):
            window = series.window(series.drawn + 1)
            line += f"; the next map is of {window.first} to {window.last}"
        self.stdout.write(line)


def find_dataset(slug: str) -> Dataset:
    """Return the dataset with this slug. Raises InvalidInput if there is none."""
    dataset = Dataset.objects.filter(slug=slug).first()
    if dataset is None:
        raise InvalidInput(
            "There is no dataset {dataset!r}; the address of its page at the desk ends in its "
            "name.",
            dataset=slug,
            field="slug",
        )
    return dataset


def find_series(key: str) -> Series:
    """Return the series with this id. Raises InvalidInput if there is none."""
    try:
        return Series.objects.select_related("dataset__ledger").get(pk=key)
    except (Series.DoesNotExist, ValidationError):
        raise InvalidInput(
            "There is no series {key!r}; `manage.py series list` shows them.",
            key=key,
            field="series",
        ) from None
