"""Every string of the public pages can be said in another language."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.core.cache import cache
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import translation

from dpgeo.pages.words import ANSWERS, WORDS
from dpgeo.postprocess.tasks.plan import REASONS
from dpgeo.spatial.area import StudyArea
from tests.maps import BOUNDS, grid_release, install

SCRIPTS = Path(settings.BASE_DIR) / "frontend" / "src"
LITERAL = re.compile(r'(?:^\(|[?:])\s*("(?:[^"\\]|\\.)*")')


def calls(script: str) -> Iterator[str]:
    """The arguments of every call of t(), with the opening parenthesis."""
    for match in re.finditer(r"(?<![\w.])t\(", script):
        depth, quote, at = 1, "", match.end()
        while depth:
            letter = script[at]
            if quote:
                at += letter == "\\"
                quote = "" if letter == quote else quote
            elif letter in "\"'`":
                quote = letter
            else:
                depth += (letter == "(") - (letter == ")")
            at += 1
        yield script[match.end() - 1 : at - 1]


def scripts() -> dict[str, str]:
    return {
        path.name: path.read_text()
        for path in SCRIPTS.glob("*.ts")
        if not path.name.endswith(".test.ts") and path.name != "translate.ts"
    }


def test_every_word_of_the_scripts_is_listed_and_every_listed_word_is_used() -> None:
    said = {
        json.loads(literal)
        for script in scripts().values()
        for call in calls(script)
        for literal in LITERAL.findall(call)
    }
    assert said - set(WORDS) == set()
    everything = "".join(scripts().values()).replace("\\u2026", "…")
    assert [word for word in WORDS if f'"{word}"' not in everything] == []


def test_every_reason_of_the_planner_can_be_said_in_another_language() -> None:
    assert set(ANSWERS) == set(REASONS.values()) - {""}


@pytest.mark.django_db
def test_pages_hand_their_scripts_the_words_of_their_language(
    client: Client,
) -> None:
    cache.clear()
    release = install(grid_release(StudyArea.from_bounds(*BOUNDS), 16), "Where people are")
    address = reverse("release", args=[release.pk])
    assert 'id="words"' not in client.get(address).content.decode()
    with translation.override("de"):
        page = client.get(address).content.decode()
    assert '<html lang="de">' in page
    handed = re.search(r'<script id="words" type="application/json">(.*?)</script>', page)
    assert handed
    assert set(json.loads(handed[1])) == {*WORDS, *ANSWERS}


@pytest.mark.django_db
def test_pictures_hold_numbers_a_browser_reads_in_any_language(client: Client) -> None:
    cache.clear()
    release = install(grid_release(StudyArea.from_bounds(*BOUNDS), 16), "Where people are")
    with translation.override("de"):
        for name in ("catalogue", "release", "release-privacy"):
            path = reverse(name, args=[] if name == "catalogue" else [release.pk])
            page = client.get(path).content.decode()
            shapes = re.findall(r'<rect[^>]* (?:x|y|width|height)="([^"]*)"', page)
            assert all(re.fullmatch(r"[\d.]+%?", number) for number in shapes), name


@pytest.mark.skipif(not Path("/usr/bin/xgettext").exists(), reason="needs GNU gettext")
def test_translators_get_a_catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "locale").mkdir()
    (tmp_path / "dpgeo").symlink_to(Path(settings.BASE_DIR) / "dpgeo" / "pages")
    monkeypatch.chdir(tmp_path)
    call_command("makemessages", locale=["de"], verbosity=0, symlinks=True, no_location=True)
    text = (tmp_path / "locale/de/LC_MESSAGES/django.po").read_text()
    assert 'msgid "Cannot be told from zero"' in text
    assert 'msgid "Draw a box"' in text
