"""`python manage.py glossary`: rewrite docs/glossary.md from the glossary page."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from dpgeo.pages.glossary import markdown


class Command(BaseCommand):
    help = "Writes docs/glossary.md from dpgeo/pages/glossary.py."

    def handle(self, *args: Any, **options: Any) -> None:
        (settings.BASE_DIR / "docs" / "glossary.md").write_text(markdown(), encoding="utf-8")
