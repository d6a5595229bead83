"""Update of the message catalogues by `make messages`; with --check, only warnings are printed."""

from __future__ import annotations

import os
import string
import sys
from collections.abc import Iterator
from pathlib import Path

import django

from translations.catalogue import Translated, read_po, write_mo, write_po
from translations.extract import ROOT, Found, Message, extract


def main() -> None:
    """Update or check all catalogues of every language in `locale/`."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dpgeo.config.settings")
    django.setup()
    check = "--check" in sys.argv[1:]
    found = extract()
    for folder in sorted(ROOT.glob("locale/*/LC_MESSAGES")):
        language = folder.parent.name
        known: Translated = {}
        for path in folder.glob("*.po"):
            known |= read_po(path)
        for domain, messages in found.items():
            translated = {each: known[each] for each in messages if each in known}
            if not check:
                write_po(folder / f"{domain}.po", language, messages, translated)
                write_mo(folder / f"{domain}.mo", language, translated)
            for warning in warnings(folder / f"{domain}.po", messages):
                print(f"warning: {warning}")


def warnings(path: Path, messages: Found) -> Iterator[str]:
    """Yield warnings about a catalogue.

    They name messages that are not translated, translations of messages that no longer exist, and
    translations with a field in braces that the message does not have.
    """
    translated = read_po(path)
    for message, place in messages.items():
        if message not in translated:
            yield f"{path.name}: {place}: not translated: {message.text}"
    for message, forms in translated.items():
        if message not in messages:
            yield f"{path.name}: no longer used: {message.text}"
        elif any(fields(form) - fields(message.text) for form in forms):
            yield f"{path.name}: other values in the translation of: {message.text}"


def fields(text: str) -> set[str]:
    """Return the names of the fields in a text, in Python's and in Django's syntax."""
    try:
        return {name for _, name, _, _ in string.Formatter().parse(text) if name}
    except ValueError:  # the text has an unpaired brace
        return set()


__all__ = ["Message", "fields", "main", "warnings"]

if __name__ == "__main__":
    main()
