"""Checks of public texts that people write, and of file names."""

from __future__ import annotations

import unicodedata
from functools import partial

from pydantic import BeforeValidator

from dpgeo.blanks import trim
from dpgeo.core.declared import read_text, without_field
from dpgeo.core.errors import InvalidInput


def clean_text(value: object, *, field: str, longest: int, required: bool = False) -> str:
    """Return a public text of at most `longest` characters, without surrounding blanks.

    Raises InvalidInput, which names `field`, for longer texts, for control characters, and for an
    empty text that is `required`.
    """
    text = trim(str(value or ""))
    if required and not text:
        raise InvalidInput("Must not be empty; write a few words.", field=field)
    if len(text) > longest:
        raise InvalidInput(
            "Has {size} characters; shorten it to at most {longest}.",
            size=len(text),
            longest=longest,
            field=field,
        )
    if any(unicodedata.category(sign) in {"Cc", "Cs"} and sign not in "\n\r\t" for sign in text):
        raise InvalidInput("Contains a control character; remove it.", field=field)
    return text


def public_text(longest: int, *, required: bool = False) -> BeforeValidator:
    """Return the reader of a declared text (`clean_text`)."""
    read = partial(clean_text, field="", longest=longest, required=required)
    return BeforeValidator(lambda value: without_field(read, read_text(value)))


def clean_line(text: object, *, longest: int, required: bool = True) -> str:
    """Return a valid text that has a single line. Raises InvalidInput."""
    if not isinstance(text, str):
        raise InvalidInput("Must be text, in quotation marks.")
    line = clean_text(text, field="", longest=longest, required=required)
    if len(line.splitlines()) > 1 or "\t" in line:
        raise InvalidInput("A name or value contains a line break; write it on one line.")
    return line


def clean_file_name(name: object) -> str:
    """Return a file's name without folders, printable and at most 255 characters long."""
    last = str(name or "").replace("\\", "/").rsplit("/", 1)[-1]
    printable = "".join(sign for sign in last if sign.isprintable()).strip()
    return printable[-255:] or "upload"
