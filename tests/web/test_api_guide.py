"""The commands in docs/api.md, run in order as HTTP requests."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client

from dpgeo.accounts.models import Scope
from dpgeo.accounts.services import key_create
from dpgeo.datasets.ingest_job import upload_ingest
from dpgeo.datasets.models import Upload
from dpgeo.jobs.models import JobState
from dpgeo.releases.models import Release
from dpgeo.releases.services import release_run
from tests.web.api import CONTENT
from tests.web.desk import make_desk

pytestmark = pytest.mark.django_db

GUIDE = Path(__file__).parents[2] / "docs" / "api.md"

COMMAND = re.compile(
    r"(?:(\w+)=\$\()?(curl .*?)(?: \| jq -r \.(\w+)\)| -o /dev/null -w '%header\{(\w+)\}'\))?$",
    re.DOTALL,
)


CUT = "%/tus"
"""The shell syntax with which the guide's commands remove the suffix /tus from an upload's URL."""


def commands() -> list[str]:
    """Return those commands of the guide that send a request."""
    blocks = re.findall(r"^```sh\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    joined = "\n".join(blocks).replace("\\\n", "")
    assert joined.count(CUT) == 1
    joined = joined.replace(f"UPLOAD=${{LOCATION{CUT}}}\n", "")
    starts = [match.start() for match in re.finditer(r"^(\w+=\$\()?curl ", joined, re.MULTILINE)]
    ends = [*starts[1:], len(joined)]
    return [joined[start:end].strip() for start, end in zip(starts, ends, strict=True)]


def ask(command: str, names: dict[str, str]) -> Any:
    """Send the request that a curl command describes, and check that it succeeds.

    `names` maps the shell variables in the command to their values. Returns the response's
    headers and the members of its JSON body, together in one dictionary.
    """
    words = shlex.split(re.sub(r"\$([A-Z]+)", lambda name: names[name[1]], command))
    method, address, data = "GET", "", b""
    headers: dict[str, str] = {}
    rest = iter(words[1:])
    for word in rest:
        if word == "-X":
            method = next(rest)
        elif word == "-H":
            name, _, value = next(rest).partition(": ")
            headers[name] = value
        elif word == "-d":
            data = next(rest).encode()
        elif word == "--data-binary":
            assert next(rest) == "@trips.csv"
            data = CONTENT
        else:
            address = word
    media_type = headers.pop("Content-Type", "")
    parts = urlsplit(address)
    path = f"{parts.path}?{parts.query}" if parts.query else parts.path
    answer = Client().generic(method, path, data, content_type=media_type, headers=headers)
    assert answer.status_code < 300, (command, answer.content)
    return {**answer.headers, **(json.loads(answer.content) if answer.content else {})}


def work_off() -> None:
    """Run all queued jobs of uploads and releases, as workers would between two commands."""
    for upload in Upload.objects.filter(job__state=JobState.QUEUED):
        upload_ingest(upload_id=upload.pk)
    for release in Release.objects.filter(job__state=JobState.QUEUED):
        release_run(release_id=release.pk)


def test_the_guide_leads_from_a_declaration_to_a_published_map(
    settings: Any, tmp_path: Path
) -> None:
    settings.INCOMING_DIR = tmp_path
    desk = make_desk()
    _, secret = key_create(
        organisation=desk.organisation,
        name="guide",
        scopes=list(Scope.values),
        created_by=desk.user,
    )
    names = {"DPGEO": "http://testserver", "KEY": secret}
    steps = commands()
    assert len(steps) == 14
    seen = False
    for command in steps:
        parts = COMMAND.match(command)
        assert parts, command
        sent = parts[2].replace("$(stat -c %s trips.csv)", str(len(CONTENT)))
        document = ask(sent, names)
        work_off()
        if parts[1]:
            names[parts[1]] = document[parts[3] or parts[4].title()]
        if parts[1] == "LOCATION":
            names["UPLOAD"] = names["LOCATION"].removesuffix("/tus")
        if sent == "curl $RELEASE":
            assert document["state"] == "published"
            assert document["title"] == "Trips in March"
            seen = True
    assert seen
    assert document["results"][0]["margin"] > 0
