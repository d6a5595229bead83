"""RDF written in three syntaxes from one tree: JSON-LD, Turtle and RDF/XML.

A node is a dict in compact JSON-LD: "@id" (absent for a blank node), one "@type", and properties
with prefixed names. A value is a text, a node, {"@value": text, "@type": datatype}, or a list of
these. `PREFIXES` names every prefix. This module writes Turtle and RDF/XML itself, because the text
of each dataset is cached separately and joined into pages, whereas a library would have to parse
and write every page anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from rest_framework.renderers import JSONRenderer

Node = dict[str, Any]

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

PREFIXES = {
    "dcat": "http://www.w3.org/ns/dcat#",
    "dcterms": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "geosparql": "http://www.opengis.net/ont/geosparql#",
    "hydra": "http://www.w3.org/ns/hydra/core#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "spdx": "http://spdx.org/rdf/terms#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}

NOT_IN_ADDRESSES = re.compile(r"[\x00-\x20<>\"{}|\\^`]")
NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Syntax:
    """One RDF syntax, with the functions that write it.

    `write` returns the text of a node. `page` returns the text of a node, such as a page of the
    catalogue, with a list of other nodes, whose texts are given.
    """

    title: str
    media_type: str
    write: Callable[[Node], bytes]
    page: Callable[[Node, str, list[Node], list[bytes]], bytes]


def _json(document: Any) -> bytes:
    text: bytes = JSONRenderer().render(document)
    return text


def _json_page(node: Node, name: str, members: list[Node], texts: list[bytes]) -> bytes:
    document = {"@context": PREFIXES, **node}
    return b'%s,"%s":[%s]}' % (_json(document)[:-1], name.encode(), b",".join(texts))


def turtle(node: Node) -> bytes:
    """Return a node and all nodes in it as Turtle statements, without prefix declarations."""
    waiting, blocks = [node], []
    while waiting:
        each = waiting.pop(0)
        blocks.append(f"{_address(each['@id'])} {_turtle_members(each, waiting)} .\n")
    return "".join(blocks).encode()


def _turtle_members(node: Node, waiting: list[Node]) -> str:
    kind = [f"a {node['@type']}"] if "@type" in node else []
    members = [
        f"{name} {', '.join(_turtle_value(value, waiting) for value in values)}"
        for name, values in _properties(node)
    ]
    return " ;\n  ".join(kind + members)


def _turtle_value(value: Any, waiting: list[Node]) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if "@value" in value:
        return f"{json.dumps(value['@value'], ensure_ascii=False)}^^{value['@type']}"
    if "@id" not in value:
        return f"[ {_turtle_members(value, waiting)} ]"
    if len(value) > 1:
        waiting.append(value)
    return _address(value["@id"])


def _turtle_page(node: Node, name: str, members: list[Node], texts: list[bytes]) -> bytes:
    head = "".join(f"@prefix {prefix}: <{url}> .\n" for prefix, url in PREFIXES.items())
    return b"\n".join([head.encode(), turtle(_with(node, name, members)), *texts])


def rdf_xml(node: Node) -> bytes:
    """Return a node and all nodes in it as an RDF/XML element, without namespace declarations."""
    return "".join(_xml_node(node)).encode()


def _xml_node(node: Node) -> Iterator[str]:
    name = node.get("@type", "rdf:Description")
    about = f" rdf:about={quoteattr(_escaped(node['@id']))}" if "@id" in node else ""
    yield f"<{name}{about}>\n"
    for member, values in _properties(node):
        for value in values:
            yield from _xml_member(member, value)
    yield f"</{name}>\n"


def _xml_member(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield f"<{name}>{_xml_text(value)}</{name}>\n"
    elif "@value" in value:
        prefix, _, term = value["@type"].partition(":")
        datatype = quoteattr(PREFIXES[prefix] + term)
        yield f"<{name} rdf:datatype={datatype}>{_xml_text(value['@value'])}</{name}>\n"
    elif set(value) == {"@id"}:
        yield f"<{name} rdf:resource={quoteattr(_escaped(value['@id']))}/>\n"
    else:
        yield f"<{name}>"
        yield from _xml_node(value)
        yield f"</{name}>\n"


def _xml_text(text: str) -> str:
    return escape(NOT_IN_XML.sub(" ", text), {"\r": "&#13;"})


def _xml_page(node: Node, name: str, members: list[Node], texts: list[bytes]) -> bytes:
    spaces = "".join(f'\n xmlns:{prefix}="{url}"' for prefix, url in PREFIXES.items())
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<rdf:RDF xmlns:rdf="{RDF}"{spaces}>\n'
    return b"".join([head.encode(), rdf_xml(_with(node, name, members)), *texts, b"</rdf:RDF>\n"])


def _with(node: Node, name: str, members: list[Node]) -> Node:
    return {**node, name: [{"@id": member["@id"]} for member in members]} if members else node


def _properties(node: Node) -> Iterable[tuple[str, list[Any]]]:
    for name, value in node.items():
        if not name.startswith("@") and value != []:  # Turtle needs a value
            yield name, value if isinstance(value, list) else [value]


def _address(url: str) -> str:
    return f"<{_escaped(url)}>"


def _escaped(url: str) -> str:
    return NOT_IN_ADDRESSES.sub(lambda sign: f"%{ord(sign[0]):02X}", url)


SYNTAXES = {
    "json-ld": Syntax("JSON-LD", "application/ld+json", _json, _json_page),
    "turtle": Syntax("Turtle", "text/turtle; charset=utf-8", turtle, _turtle_page),
    "rdf-xml": Syntax("RDF/XML", "application/rdf+xml; charset=utf-8", rdf_xml, _xml_page),
}
