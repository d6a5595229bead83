"""Text documents for word processors, in OpenDocument (ISO/IEC 26300, version 1.3).

A document is a heading, paragraphs, lists of facts and tables, which people then edit in
LibreOffice or Word. Equal parts give equal bytes.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

MEDIA_TYPE = "application/vnd.oasis.opendocument.text"

NAMESPACES = " ".join(
    f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for short, name in {
        "office": "office",
        "text": "text",
        "table": "table",
        "style": "style",
        "meta": "meta",
        "manifest": "manifest",
    }.items()
)
FO = (
    'xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/"'
)

NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold."""

DAY = (1980, 1, 1, 0, 0, 0)
"""Time of every member of the archive, the earliest that the format can state."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; level 1 is the largest below the title."""

    text: str
    level: int = 1


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph; line breaks in its text are kept."""

    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose first row is a heading."""

    rows: Sequence[Sequence[str]]


Part = Heading | Paragraph | Table


def write_odt(title: str, parts: Sequence[Part], *, language: str = "en") -> bytes:
    """Return a text document; `language` is a code such as "de"."""
    members = {
        "content.xml": _content(title, parts),
        "styles.xml": _styles(language),
        "meta.xml": _meta(title, language),
        "META-INF/manifest.xml": _manifest(),
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        # Programs recognise the type by the member mimetype, which must be first and uncompressed.
        archive.writestr(zipfile.ZipInfo("mimetype", DAY), MEDIA_TYPE)
        for name, text in members.items():
            archive.writestr(zipfile.ZipInfo(name, DAY), text, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _document(kind: str, body: str) -> str:
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<office:document-{kind} {NAMESPACES} {FO} office:version="1.3">{body}'
        f"</office:document-{kind}>"
    )


def _content(title: str, parts: Sequence[Part]) -> str:
    inner = [f'<text:p text:style-name="Title">{_text(title)}</text:p>']
    inner += [each for number, part in enumerate(parts, 1) for each in _xml(part, number)]
    cell = (
        '<style:style style:name="Cell" style:family="table-cell">'
        '<style:table-cell-properties fo:border="0.5pt solid #808080" fo:padding="0.1cm"/>'
        "</style:style>"
    )
    styles = f"<office:automatic-styles>{cell}</office:automatic-styles>"
    return _document(
        "content", f"{styles}<office:body><office:text>{''.join(inner)}</office:text></office:body>"
    )


def _xml(part: Part, number: int) -> Iterator[str]:
    if isinstance(part, Heading):
        style = f'text:style-name="Heading_20_{part.level}" text:outline-level="{part.level}"'
        yield f"<text:h {style}>{_text(part.text)}</text:h>"
    elif isinstance(part, Paragraph):
        yield _paragraph(part.text)
    elif part.rows:
        columns = len(part.rows[0])
        yield f'<table:table table:name="Table{number}">'
        yield f'<table:table-column table:number-columns-repeated="{columns}"/>'
        head, *rest = part.rows
        yield f"<table:table-header-rows>{_row(head, 'Strong_20_text')}</table:table-header-rows>"
        yield from map(_row, rest)
        yield "</table:table>"


def _row(cells: Sequence[str], style: str = "Standard") -> str:
    inner = "".join(
        '<table:table-cell table:style-name="Cell" office:value-type="string">'
        f"{_paragraph(each, style)}</table:table-cell>"
        for each in cells
    )
    return f"<table:table-row>{inner}</table:table-row>"


def _paragraph(text: str, style: str = "Standard") -> str:
    return f"<text:p text:style-name={quoteattr(style)}>{_text(text)}</text:p>"


def _text(text: str) -> str:
    clean = escape(NOT_IN_XML.sub("\ufffd", text))
    return "<text:line-break/>".join(clean.splitlines())


def _styles(language: str) -> str:
    def style(name: str, size: int, *, bold: bool, above: float) -> str:
        weight = ' fo:font-weight="bold"' if bold else ""
        return (
            f'<style:style style:name="{name}" style:family="paragraph">'
            f'<style:paragraph-properties fo:margin-top="{above}cm" fo:margin-bottom="0.2cm"/>'
            f'<style:text-properties fo:font-size="{size}pt"{weight} '
            f"fo:language={quoteattr(language)}/></style:style>"
        )

    return _document(
        "styles",
        "<office:styles>"
        + style("Standard", 11, bold=False, above=0)
        + style("Strong_20_text", 11, bold=True, above=0)
        + style("Title", 20, bold=True, above=0)
        + style("Heading_20_1", 15, bold=True, above=0.6)
        + style("Heading_20_2", 12, bold=True, above=0.4)
        + "</office:styles>",
    )


def _meta(title: str, language: str) -> str:
    facts = f"<dc:title>{_text(title)}</dc:title><dc:language>{escape(language)}</dc:language>"
    return _document("meta", f"<office:meta>{facts}</office:meta>")


def _manifest() -> str:
    entries = {"/": MEDIA_TYPE, **{f"{each}.xml": "text/xml" for each in ("content", "styles")}}
    entries["meta.xml"] = "text/xml"
    lines = "".join(
        f'<manifest:file-entry manifest:full-path="{path}" manifest:media-type="{kind}"/>'
        for path, kind in entries.items()
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<manifest:manifest {NAMESPACES} manifest:version="1.3">{lines}</manifest:manifest>'
    )
