"""The glossary: a single list from which its page and docs/glossary.md are generated."""

from __future__ import annotations

from django.conf import settings

from dpgeo.pages.glossary import markdown


def test_the_document_and_the_page_say_the_same() -> None:
    document = (settings.BASE_DIR / "docs" / "glossary.md").read_text()
    assert document == markdown(), "Run python manage.py glossary."
