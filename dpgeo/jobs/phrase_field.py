"""Text column of phrases, which pages render in their own language."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.db import models

from dpgeo.phrases import Phrase

if TYPE_CHECKING:
    _TextField = models.TextField[Phrase | str, Phrase]
else:
    _TextField = models.TextField

START = '{"template": '
"""What every stored phrase begins with, and no sentence does."""


def read_phrase(text: str) -> Phrase:
    """Read a stored phrase; return any other text as it is.

    Loading a row must never fail because of its text: the ledger is settled from these rows.
    """
    if not text.startswith(START):
        return Phrase.from_json(text)
    try:
        return Phrase.from_json(json.loads(text))
    except (ValueError, RecursionError):
        return Phrase.from_json(text)


def store_phrase(phrase: Phrase) -> str:
    """Write a phrase as text: "" if empty, English if its values are not JSON."""
    try:
        return json.dumps(phrase.to_json()) if phrase else ""
    except TypeError:
        return str(phrase)


class PhraseField(_TextField):
    """A text column of phrases; migrations know it as a text column."""

    def from_db_value(self, value: str | None, *_: object) -> Phrase:
        return read_phrase(value or "")

    def to_python(self, value: Any) -> Phrase:
        return value if isinstance(value, Phrase) else read_phrase(str(value or ""))

    def get_prep_value(self, value: Any) -> str:
        return store_phrase(value) if isinstance(value, Phrase) else str(value or "")

    def deconstruct(self) -> Any:
        name, _, arguments, options = super().deconstruct()
        return name, "django.db.models.TextField", arguments, options
