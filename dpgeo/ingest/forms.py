"""Declared form of a file: the format of its rows, and how the file is packed.

Privacy argument. A format can be recognised from a file's first bytes. In a file without a header,
these bytes are a row: a line `{"trips": [` in a file of JSON lines, or `{` in a table, would decide
how everybody else's rows are read. So a format is recognised only once, to be shown to the
owner, who confirms it. From then on it is part of the declaration, and the file is read in that
format whatever it begins with. If a program confirms the columns without declaring a format, the
format is taken from the name that the owner gave to the file, never from the file's content.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from dpgeo.core.errors import InvalidInput
from dpgeo.ingest.formats import FORMATS, InputFormat
from dpgeo.phrases import listed

PACKINGS = ("gz", "zip")
CODES = {form.code: form for form in FORMATS}
PACKED_NAMES = {".kmz": "kml.zip"}


@dataclass(frozen=True, slots=True)
class Form:
    """A format, and the kind of archive that the file is packed in ("" if it is not packed)."""

    format: InputFormat
    packing: str = ""

    @property
    def code(self) -> str:
        """Code by which a file of this form is declared, such as "csv" or "csv.gz"."""
        return f"{self.format.code}.{self.packing}" if self.packing else self.format.code

    @property
    def sandboxed(self) -> bool:
        """Whether files of this form are read in a separate process."""
        return bool(self.packing) or self.format.sandboxed


def find_form(code: str) -> Form:
    """Return the form (format and packing) that a code such as "csv.gz" stands for.

    Raises InvalidInput (field "columns.file_format") if there is none.
    """
    name, _, packing = code.partition(".")
    if name not in CODES or (packing and packing not in PACKINGS) or code.endswith("."):
        raise InvalidInput(
            "There is no file format {name!r}; the formats are {known}, with .gz or .zip at the "
            "end for a packed file.",
            name=code[:20],
            known=listed(sorted(CODES)),
            field="columns.file_format",
        )
    return Form(CODES[name], packing)


def form_by_name(file_name: str) -> str:
    """Return the code of the form that a file's name indicates, or "" if it indicates none.

    A name that ends in .json stands for a GeoJSON document. One that ends in .zip indicates nothing
    unless the ending before it does (points.csv.zip).
    """
    path = PurePath(file_name.lower())
    if path.suffix in PACKED_NAMES:
        return PACKED_NAMES[path.suffix]
    packing = path.suffix.removeprefix(".")
    if packing not in PACKINGS:
        packing = ""
    suffix = PurePath(path.stem).suffix if packing else path.suffix
    named = next((form for form in FORMATS if suffix in {*form.suffixes, *form.names}), None)
    return Form(named, packing).code if named else ""


def fits_name(file_name: str, code: str) -> bool:
    """Return whether a file's name is compatible with a declared format ("" for none declared).

    A name that stands for another format is compatible if neither of the two formats has a header,
    since such formats share suffixes (.json), and if the packing (gzip, zip or none) is the same.
    """
    named = form_by_name(file_name)
    if not (named and code) or named == code:
        return True
    told, declared = find_form(named), find_form(code)
    headers = told.format.has_header or declared.format.has_header
    return told.packing == declared.packing and not headers
