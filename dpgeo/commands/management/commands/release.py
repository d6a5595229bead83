"""`python manage.py release SLUG ...`: price and request a release, and wait for it."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.urls import NoReverseMatch, reverse

from dpgeo.commands.console import (
    acting_user,
    add_options,
    given_options,
    job_wait,
    plain_errors,
)
from dpgeo.core.epsilon import format_epsilon
from dpgeo.core.errors import InvalidInput
from dpgeo.core.release_request import ReleaseRequest
from dpgeo.datasets.models import Dataset
from dpgeo.jobs.models import JobState
from dpgeo.privacy.mechanism import Forecast
from dpgeo.releases.models import Release
from dpgeo.releases.requests import read_request
from dpgeo.releases.services import Quote, release_quote, release_request, release_run


class Command(BaseCommand):
    help = "Spends part of a dataset's privacy budget on a release; --dry-run only says how much."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("dataset", metavar="SLUG")
        add_options(parser, ReleaseRequest, without=["parameters"])
        parser.add_argument(
            "--param", action="append", default=[], metavar="NAME=VALUE", help="May be repeated."
        )
        parser.add_argument("--title", default="", help="By default the dataset's.")
        parser.add_argument("--description", default="")
        parser.add_argument("--publish", action="store_true", help="Publish when done.")
        parser.add_argument(
            "--all-files", action="store_true", help="Make all files once it is published."
        )
        parser.add_argument("--wait", action="store_true", help="Wait for the end.")
        parser.add_argument("--dry-run", action="store_true", help="Price it; spend nothing.")
        parser.add_argument("--user", default="", help="Username on whose behalf this is done.")

    def handle(self, *args: Any, **options: Any) -> None:
        parameters = parse_pairs(options["param"])
        with plain_errors({"slug": "SLUG", **{name: f"--param {name}" for name in parameters}}):
            dataset = Dataset.objects.filter(slug=options["dataset"]).first()
            if dataset is None:
                raise InvalidInput(
                    "There is no dataset {dataset!r}; the address of its page at the desk ends "
                    "in its name.",
                    dataset=options["dataset"],
                    field="slug",
                )
            given = given_options(options, ReleaseRequest)
            request = read_request(dataset, **given, parameters=parameters)
            quote = release_quote(dataset=dataset, request=request)
            self._show(quote, dataset)
            if options["dry_run"]:
                self.stdout.write("Dry run: nothing was spent.")
                return
            release = release_request(
                dataset=dataset,
                title=options["title"] or dataset.title,
                description=options["description"],
                request=request,
                publish_when_done=options["publish"],
                all_files=options["all_files"],
                requested_by=acting_user(options["user"]),
            )
        if options["publish"] and not release.publish_when_done:
            self.stdout.write("It will stay a draft: publishing needs the approver's role.")
        self.stdout.write(f"Release {release.pk} is queued.")
        if options["wait"]:
            self._await(release)

    def _show(self, quote: Quote, dataset: Dataset) -> None:
        options = quote.request.options().items()
        for line in (
            f"{quote.mechanism.title} of {dataset.title}, counting {quote.request.counting.value}, "
            f"at most {quote.request.bound} of each {dataset.unit}",
            *(f"  {name}: {value}" for name, value in options),
            *(f"  {spend.label}: {quote.words(spend.amount)}" for spend in quote.plan),
            f"Cost: {quote.cost_words}; left before "
            f"{quote.rest_before}, after {quote.rest_after} "
            f"({quote.more_like_this} more like this)",
            *_household(quote),
            describe_noise(quote.forecast),
        ):
            self.stdout.write(line)

    def _await(self, release: Release) -> None:
        job = job_wait(
            job_id=release.job_id,
            run=lambda on_progress: release_run(release_id=release.pk, on_progress=on_progress),
            output=self.stdout,
        )
        if job.state != JobState.DONE:
            raise CommandError(f"The release was not made. {job.failure}".strip())
        release.refresh_from_db()
        for file in release.files.all():
            if file.size is not None:
                self.stdout.write(f"  {file.name}  {file.size:,} bytes  sha256 {file.sha256}")
        self.stdout.write("  Other formats are made when somebody first asks for them.")
        if release.rules.public:
            self.stdout.write(self.style.SUCCESS(f"Published: {address(release)}"))
        elif release.publish_when_done:
            self.stdout.write(
                self.style.SUCCESS(
                    f"Made, not published yet: `serve` or `manage.py reap` publishes it from "
                    f"{job.end_shown_at:%Y-%m-%d %H:%M:%S} UTC on, at {address(release)}"
                )
            )
        else:
            self.stdout.write(self.style.SUCCESS(f"Draft, not published: {release.pk}"))


def _household(quote: Quote) -> list[str]:
    """Return a line of text on the epsilon of a household, or [] if single people are protected."""
    request = quote.request
    if request.household == 1:
        return []
    epsilon = format_epsilon(request.of_household)
    return [f"For each person; a household of up to {request.household} has epsilon {epsilon}"]


def describe_noise(forecast: Forecast) -> str:
    """Return one line of text that describes the expected noise."""
    if forecast.radii:
        near, far = forecast.radii
        return (
            f"Expected noise: half of the points move up to {near:,.0f} m, 95 % up to {far:,.0f} m"
        )
    return (
        f"Expected noise: plus or minus {forecast.margin:,} (95 %) in each of at most "
        f"{forecast.regions:,} {forecast.region_plural}, the smallest "
        f"{forecast.ground_metres:,.0f} m wide; counts from {forecast.stands_out_from:,} stand out"
    )


def address(release: Release) -> str:
    """Return the URL of a release's page, or its id if the site's pages are not installed."""
    try:
        return reverse("release", args=[release.pk])
    except NoReverseMatch:
        return release.pk


def parse_pairs(pairs: Sequence[str]) -> dict[str, object]:
    """Parse texts of the form name=value into a dictionary.

    Raises CommandError for any other text.
    """
    parameters: dict[str, object] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise CommandError(f"--param: write {pair!r} as name=value, like cells=64.")
        if name in parameters:
            raise CommandError(f"--param: {name} is given twice; give it once.")
        parameters[name] = value
    return parameters
