"""Declared layout of a file: encoding, separator, header, and the sheet or table to read."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from dpgeo.core.errors import InvalidInput

ENCODINGS = {"": "utf-8", "latin-1": "cp1252", "utf-16-le": "utf-16-le", "utf-16-be": "utf-16-be"}
"""Python's codecs for the declared encodings; "latin-1" is read as Windows-1252, its superset."""

DELIMITERS = ",;\t|"
BLANKS = " "
"""Stands for one or more spaces or tabs between two columns."""

SEPARATORS = {
    "": "",
    "comma": ",",
    "semicolon": ";",
    "tab": "\t",
    "bar": "|",
    "spaces": BLANKS,
}
"""Separators by the names under which they are declared."""

MAX_UNNAMED = 1_000


@dataclass(frozen=True, slots=True)
class Layout:
    """How the bytes of a file become rows and columns; "" in any member means the usual choice.

    `encoding` is a key of ENCODINGS. `delimiter` is a key of SEPARATORS, or "" for the one that
    divides the header into the most columns. `unnamed` is the number of columns in a text file
    without a header. `sheet` names the sheet, table or kind of record to read if the file has
    several.
    """

    encoding: str = ""
    delimiter: str = ""
    unnamed: str = ""
    sheet: str = ""

    def check(self) -> None:
        """Raise InvalidInput for an unknown encoding or separator, or a wrong number of columns.

        The error's field is "columns.encoding", "columns.delimiter" or "columns.unnamed".
        """
        if self.encoding not in ENCODINGS:
            raise InvalidInput(
                "There is no encoding {name!r}; leave it empty for UTF-8, or give latin-1, "
                "utf-16-le or utf-16-be.",
                name=self.encoding[:20],
                field="columns.encoding",
            )
        if self.delimiter not in SEPARATORS:
            raise InvalidInput(
                "There is no separator {name!r}; it is comma, semicolon, tab, bar or spaces.",
                name=self.delimiter[:20],
                field="columns.delimiter",
            )
        number = self.unnamed
        if number and not (number.isascii() and number.isdigit() and self.columns <= MAX_UNNAMED):
            raise InvalidInput(
                "A file without a header is declared by the number of its columns, up to {most:,}.",
                most=MAX_UNNAMED,
                field="columns.unnamed",
            )

    @property
    def columns(self) -> int:
        """Return the number of columns of a file without a header, 0 for one with a header."""
        return int(self.unnamed[:9] or 0)

    @property
    def separator(self) -> str:
        """Return the character between two columns, or "" for the one that the header suggests."""
        return SEPARATORS[self.delimiter]

    def to_json(self) -> dict[str, str]:
        """Return the layout as plain JSON."""
        return asdict(self)


PLAIN = Layout()


def unnamed_columns(number: int) -> list[str]:
    """Return the names by which columns are declared in a file without a header."""
    return [f"column {index + 1}" for index in range(number)]
