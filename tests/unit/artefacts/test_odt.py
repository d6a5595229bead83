"""Text documents: valid XML whatever the words, and the same bytes every time."""

from __future__ import annotations

import io
import zipfile
from xml.etree import ElementTree

from dpgeo.artefacts.odt import Heading, Paragraph, Table, write_odt

ODD = 'a < b & "c"\nsecond line\x00\x0b\ud800'


def test_any_words_make_a_document_that_reads_the_same() -> None:
    table = Table([("Question", "Answer"), (ODD, "")])
    parts: list[Heading | Paragraph | Table] = [Heading(ODD), Paragraph(ODD), table]
    document = write_odt(ODD, parts, language="de")
    assert document == write_odt(ODD, parts, language="de")
    with zipfile.ZipFile(io.BytesIO(document)) as archive:
        content = ElementTree.fromstring(archive.read("content.xml"))  # noqa: S314
        listed = archive.read("META-INF/manifest.xml").decode()
        for name in archive.namelist()[1:-1]:
            ElementTree.fromstring(archive.read(name))  # noqa: S314
            assert f'full-path="{name}"' in listed
    texts = ["".join(each.itertext()) for each in content.iter() if each.tag.endswith(("}p", "}h"))]
    shown = 'a < b & "c"second line\ufffd\ufffd\ufffd'
    assert texts == [shown, shown, shown, "Question", "Answer", shown, ""]
    breaks = [each for each in content.iter() if each.tag.endswith("}line-break")]
    assert len(breaks) == 4
