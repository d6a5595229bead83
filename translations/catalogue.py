"""Catalogues in gettext's formats: `.po` for people and `.mo` for programs."""

from __future__ import annotations

import ast
import re
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

from translations.extract import Found, Message

Translated = dict[Message, tuple[str, ...]]
"""Messages with their translation or, for plurals, one translation for each form."""

HEADER = """msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"Language: {language}\\n"
"Plural-Forms: {plurals}\\n"
"""

PLURALS = "nplurals=2; plural=(n != 1);"

LINE = re.compile(r'(msgctxt|msgid_plural|msgid|msgstr(?:\[\d\])?)?\s*(".*")')


def read_po(path: Path) -> Translated:
    """Return a catalogue's translations except fuzzy ones, or none if there is no file."""
    messages: Translated = {}
    blocks = path.read_text().split("\n\n") if path.exists() else []
    for block in blocks:
        if re.search(r"^#,.*fuzzy", block, re.M):
            continue
        parts: dict[str, str] = {}
        key = ""
        for match in filter(None, map(LINE.fullmatch, block.splitlines())):
            key = match[1] or key
            parts[key] = parts.get(key, "") + ast.literal_eval(match[2])
        forms = tuple(text for key, text in parts.items() if key.startswith("msgstr"))
        if parts.get("msgid") and all(forms):
            plural, context = parts.get("msgid_plural", ""), parts.get("msgctxt", "")
            messages[Message(parts["msgid"], plural, context)] = forms
    return messages


def write_po(
    path: Path, language: str, found: Found, translated: Mapping[Message, tuple[str, ...]]
) -> None:
    """Write the extracted messages and their translations in the order of the source files."""
    blocks = [HEADER.format(language=language, plurals=PLURALS).rstrip()]
    file = ""
    for message, place in sorted(found.items(), key=lambda item: item[1]):
        heading = [f"#: {place}"] if place != file else []
        file = place
        forms = translated.get(message, ("", "") if message.plural else ("",))
        blocks.append("\n".join([*heading, *_entry(message, forms)]))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join(blocks) + "\n")


def _entry(message: Message, forms: tuple[str, ...]) -> Iterator[str]:
    if "%(" in message.text:
        yield "#, python-format"
    elif re.search(r"{\w", message.text):
        yield "#, python-brace-format"
    if message.context:
        yield f"msgctxt {_quoted(message.context)}"
    yield f"msgid {_quoted(message.text)}"
    if not message.plural:
        yield f"msgstr {_quoted(forms[0])}"
        return
    yield f"msgid_plural {_quoted(message.plural)}"
    yield from (f"msgstr[{number}] {_quoted(form)}" for number, form in enumerate(forms))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def write_mo(path: Path, language: str, translated: Mapping[Message, tuple[str, ...]]) -> None:
    """Write the translations in gettext's binary format, with messages sorted."""
    header = f"Content-Type: text/plain; charset=UTF-8\nLanguage: {language}\n"
    entries = {b"": f"{header}Plural-Forms: {PLURALS}\n".encode()}
    for message, forms in translated.items():
        context = f"{message.context}\x04" if message.context else ""
        plural = f"\0{message.plural}" if message.plural else ""
        entries[f"{context}{message.text}{plural}".encode()] = "\0".join(forms).encode()
    keys = sorted(entries)
    texts, places = b"", []
    for text in [*keys, *(entries[key] for key in keys)]:
        places.append((len(text), 28 + 16 * len(keys) + len(texts)))
        texts += text + b"\0"
    head = (0x950412DE, 0, len(keys), 28, 28 + 8 * len(keys), 0, 28 + 16 * len(keys))
    table = b"".join(struct.pack("<II", *place) for place in places)
    path.write_bytes(struct.pack("<7I", *head) + table + texts)
