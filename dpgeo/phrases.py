"""Sentences as constant templates with values, translated when shown.

Every package may import this module, because all of them produce messages for people. Templates are
written in English, and `str` fills in their values. Pages look up the template in the catalogue of
their language and fill in the same values.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self, TypeAlias

Value: TypeAlias = "str | int | float | Phrase"
"""The value of a template's field. Plain text is data and is never translated."""

FORMAT = re.compile(r",?(\.\d)?[fg]?")
"""Format specifications allowed for numbers, such as ",.0f".

Widths are not allowed, because they could make any text huge.
"""


MAX_DEPTH = 8
MAX_LENGTH = 65_536
"""Limits on a phrase read from JSON: nesting depth, and number of characters when rendered.

The phrase may come from a sandboxed process, and its template may repeat a long value many times.
"""


class Figure(str):
    """A number as English text, such as "1,386.29"; pages replace its separators."""

    __slots__ = ()


class Phrase:
    """A sentence: a template with fields such as {name!r}, and the values of the fields.

    A phrase without values is a plain sentence, in which braces have no special meaning. A value
    may be another phrase, which is rendered in the same language.
    """

    __slots__ = ("template", "values")

    def __init__(self, template: str, /, **values: Value) -> None:
        self.template = template
        self.values: Mapping[str, Value] = values

    def render(
        self, translate: Callable[[str], str] = str, figure: Callable[[str], str] = str
    ) -> str:
        """Return the sentence, after applying `translate` to templates and `figure` to numbers."""
        text = translate(self.template) if self.template else ""
        return _Renderer(translate, figure).vformat(text, (), self.values) if self.values else text

    def __str__(self) -> str:
        return self.render()

    def __repr__(self) -> str:
        return f"Phrase({self.template!r}, {self.values!r})"

    def __bool__(self) -> bool:
        return bool(self.template)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Phrase):
            return NotImplemented
        return (self.template, self.values) == (other.template, other.values)

    def __hash__(self) -> int:
        return hash((self.template, tuple(self.values.items())))

    def to_json(self) -> dict[str, Any]:
        """Return the phrase as a dictionary that can be written as JSON."""
        return {
            "template": self.template,
            "values": {name: _value_to_json(value) for name, value in self.values.items()},
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any] | str, depth: int = MAX_DEPTH) -> Self:
        """Return the phrase in a JSON document written by `to_json`.

        Plain text becomes a phrase that shows this text untranslated. Raises ValueError for
        anything else, and for a phrase that exceeds `MAX_DEPTH` or `MAX_LENGTH`.
        """
        if isinstance(document, str):
            return cls("{text}", text=document[:MAX_LENGTH]) if document else cls("")
        if not depth:
            raise ValueError("This is no phrase: its values are nested too deeply.")
        try:
            values = {
                name: _value_from_json(each, depth - 1) for name, each in document["values"].items()
            }
            phrase = cls(_text(document["template"]), **values)
            if _longest(phrase) > MAX_LENGTH:
                raise ValueError("This is no phrase: it is too long.")
            str(phrase)
        except (AttributeError, KeyError, TypeError, ArithmeticError) as error:
            raise ValueError("This is no phrase.") from error
        return phrase


class InvalidValue(ValueError):
    """Error that says why a value is unusable, without naming the input field."""

    def __init__(self, template: str, /, **values: Value) -> None:
        super().__init__(Phrase(template, **values))


def translatable(text: str) -> str:
    """Mark a text for translation and return it unchanged; it is translated when shown."""
    return text


def shown_by_scripts(text: str) -> str:
    """Mark a text for translation on pages and in their scripts, and return it unchanged."""
    return text


def listed(names: Iterable[str]) -> str:
    """Join names with commas. Names are data, so they are not translated."""
    return ", ".join(names)


def phrase_of(error: Exception) -> Phrase:
    """Return the phrase that an error was raised with, or its message as a phrase."""
    first = error.args[0] if error.args else ""
    return first if isinstance(first, Phrase) else Phrase("{problem}", problem=str(error))


class _Renderer(string.Formatter):
    """Formatter like `str.format` that writes values in the reader's language.

    Fields must be plain names, without attributes or indices.
    """

    def __init__(self, translate: Callable[[str], str], figure: Callable[[str], str]) -> None:
        self._translate, self._figure = translate, figure

    def get_field(
        self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Any, str]:
        return kwargs[field_name], field_name

    def format_field(self, value: Any, format_spec: str) -> str:
        if not FORMAT.fullmatch(format_spec):
            raise ValueError("This is no format of a number.")
        if isinstance(value, Phrase):
            return value.render(self._translate, self._figure)
        text = format(value, format_spec)
        return self._figure(text) if isinstance(value, int | float | Figure) else text


def _value_to_json(value: Value) -> Any:
    if isinstance(value, Phrase):
        return value.to_json()
    return {"figure": str(value)} if isinstance(value, Figure) else value


def _value_from_json(value: Any, depth: int) -> Value:
    if isinstance(value, Mapping):
        if "figure" in value:
            return Figure(_text(value["figure"]))
        return Phrase.from_json(value, depth)
    if not isinstance(value, str | int | float):
        raise TypeError("A value is text, a number or a phrase.")
    return value


def _longest(phrase: Phrase) -> int:
    """Return an upper bound on a rendered phrase's length, assuming that its numbers are short."""
    lengths = {
        name: _longest(value) if isinstance(value, Phrase) else len(str(value))
        for name, value in phrase.values.items()
    }
    fields = string.Formatter().parse(phrase.template) if phrase.values else ()
    return len(phrase.template) + sum(lengths[name] for _, name, _, _ in fields if name is not None)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("A template is text.")
    return value
