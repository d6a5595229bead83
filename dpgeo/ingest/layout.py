"""Declared layout of a file: encoding, separator, header, and the sheet or table to read."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from dpgeo.core.errors import InvalidInput
from dpgeo.phrases import Phrase, listed

ENCODINGS = {
    "": "utf-8",
    "latin-1": "cp1252",
    "utf-16-le": "utf-16-le",
    "utf-16-be": "utf-16-be",
    "windows-1250": "cp1250",
    "windows-1251": "cp1251",
    "windows-1253": "cp1253",
    "windows-1254": "cp1254",
    "windows-1255": "cp1255",
    "windows-1256": "cp1256",
    "windows-1257": "cp1257",
    "koi8-r": "koi8_r",
    "gb18030": "gb18030",
    "big5": "big5",
    "shift_jis": "cp932",
    "euc-kr": "cp949",
}
"""Python's codecs for the declared encodings.

"latin-1" is read as Windows-1252, "shift_jis" and "euc-kr" as the supersets that Windows writes,
and GBK is a part of "gb18030". In none of them is a line break or a separator part of another
character, so a faulty character affects only its own line; EUC-JP is left out, because its
decoder lets one swallow the line break after it.
"""

WRITTEN_IN = {
    "": Phrase("UTF-8"),
    "latin-1": Phrase("Western European"),
    "utf-16-le": Phrase("UTF-16"),
    "utf-16-be": Phrase("UTF-16"),
    "windows-1250": Phrase("Central European"),
    "windows-1251": Phrase("Cyrillic"),
    "windows-1253": Phrase("Greek"),
    "windows-1254": Phrase("Turkish"),
    "windows-1255": Phrase("Hebrew"),
    "windows-1256": Phrase("Arabic"),
    "windows-1257": Phrase("Baltic"),
    "koi8-r": Phrase("Cyrillic (KOI8-R)"),
    "gb18030": Phrase("Chinese (GBK)"),
    "big5": Phrase("Chinese (Big5)"),
    "shift_jis": Phrase("Japanese (Shift JIS)"),
    "euc-kr": Phrase("Korean"),
}
"""Names of the encodings, as people know them."""

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
MAX_SKIP = 20


@dataclass(frozen=True, slots=True)
class Layout:
    """How the bytes of a file become rows and columns; "" in any member means the usual choice.

    `encoding` is a key of ENCODINGS. `delimiter` is a key of SEPARATORS, or "" for the one that
    divides the header into the most columns. `unnamed` is the number of columns in a text file
    without a header. `skip` is the number of rows above the header that are not blank, such as a
    title, comments, or names of groups of columns. If `row_names` is "yes", the header does not
    name the first column, which holds the rows' names, as R writes it. `sheet` names the sheet,
    table or kind of record to read if the file has several.
    """

    encoding: str = ""
    delimiter: str = ""
    unnamed: str = ""
    sheet: str = ""
    skip: str = ""
    row_names: str = ""

    def check(self) -> None:
        """Raise InvalidInput for an unknown encoding or separator, or a wrong number.

        The error's field is "columns." and the name of the member.
        """
        if self.encoding not in ENCODINGS:
            raise InvalidInput(
                "There is no encoding {name!r}; leave it empty for UTF-8, or choose from {known}.",
                name=self.encoding[:20],
                known=listed(sorted(filter(None, ENCODINGS))),
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

        if self.skip and not (
            self.skip.isascii() and self.skip.isdigit() and self.skipped <= MAX_SKIP
        ):
            raise InvalidInput(
                "`skip` must be the number of rows above the header, at most {most}.",
                most=MAX_SKIP,
                field="columns.skip",
            )
        if self.row_names not in {"", "yes"}:
            raise InvalidInput('`row_names` must be "yes" or empty.', field="columns.row_names")

    @property
    def skipped(self) -> int:
        """Return the number of rows above the header."""
        return int(self.skip[:9] or 0)

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
