"""The glossary: a single list from which its page and docs/glossary.md are generated."""

from __future__ import annotations

import html

import pytest
from django.conf import settings
from django.test import Client

from dpgeo.pages.glossary import SECTIONS, markdown


def test_the_document_and_the_page_say_the_same() -> None:
    document = (settings.BASE_DIR / "docs" / "glossary.md").read_text()
    assert document == markdown(), "Run python manage.py glossary."


def test_each_word_is_explained_once() -> None:
    words = [str(term.word) for _, terms in SECTIONS for term in terms]
    assert len(set(words)) == len(words) > 30


@pytest.mark.django_db
def test_privacy_pages_link_to_the_glossary() -> None:
    assert "/about/words/" in Client().get("/about/privacy/").content.decode()
    shown = html.unescape(Client().get("/about/words/").content.decode())
    for _, terms in SECTIONS:
        for term in terms:
            assert str(term.word) in shown
            assert str(term.meaning) in shown
