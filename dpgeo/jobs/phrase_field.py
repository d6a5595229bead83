"""Text column for phrases, which pages show in the reader's language."""

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
"""Prefix of every stored phrase; no sentence in plain text starts like this."""


def read_phrase(text: str) -> Phrase:
    """Return a stored phrase, or for any other text a phrase that shows the text unchanged.

    This never raises an error: refunds depend on job rows, which must load whatever their text is.
    """
    if not text.startswith(START):
        return Phrase.from_json(text)
    try:
        return Phrase.from_json(json.loads(text))
    except (ValueError, RecursionError):
        return Phrase.from_json(text)


def store_phrase(phrase: Phrase) -> str:
    """Return a translatable text as JSON, or "" if it is empty.

    If values in the text cannot be represented in JSON, the result is the English text.
    """
    try:
        return json.dumps(phrase.to_json()) if phrase else ""
    except TypeError:
        return str(phrase)


class PhraseField(_TextField):
    """Column of `Phrase`s, stored as text; to migrations it is an ordinary text column."""

    def from_db_value(self, value: str | None, *_: object) -> Phrase:
        return read_phrase(value or "")

    def to_python(self, value: Any) -> Phrase:
        return value if isinstance(value, Phrase) else read_phrase(str(value or ""))

    def get_prep_value(self, value: Any) -> str:
        return store_phrase(value) if isinstance(value, Phrase) else str(value or "")

    def deconstruct(self) -> Any:
        name, _, arguments, options = super().deconstruct()
        return name, "django.db.models.TextField", arguments, options
