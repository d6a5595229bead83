"""The DCAT-AP 3 catalogue as portals read it: in three syntaxes, validated and harvested."""

from __future__ import annotations

import importlib.util
import json
import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from dpgeo.api.rdf import SYNTAXES
from dpgeo.releases.models import Release
from tests.makers import redeclare
from tests.requirements import need
from tests.series_maps import install_series
from tests.unit.artefacts.releases import grid_release, partition_release
from tests.web.published import install, make_dataset

pytestmark = pytest.mark.django_db

HOST = "http://testserver"
SHAPES = settings.BASE_DIR / "tests/dcat-ap/dcat-ap_3_shacl_shapes.ttl"
PARSERS = {"json-ld": "json-ld", "turtle": "turtle", "rdf-xml": "xml"}
HYDRA = "http://www.w3.org/ns/hydra/core#"
CC_BY = "https://creativecommons.org/licenses/by/4.0/"

DECLARED: dict[str, Any] = {
    "title": "Walks",
    "description": "Walks of volunteers, recorded by their telephones.",
    "contact": "walks@example.org",
    "keywords": ["walking", 'spring "26" \\ <ü>'],
    "themes": ["TRAN", "SOCI"],
    "covers_from": "2026-03-01",
    "covers_until": "2026-05-31",
    "attribution": "City & Partners",
}


def rdflib() -> Any:
    need(importlib.util.find_spec("rdflib"), "rdflib: make packages-full")
    import rdflib

    return rdflib


@pytest.fixture
def release() -> Release:
    return install(make_dataset(**DECLARED), partition_release())


def page(syntax: str, address: str = f"{HOST}/api/v1/catalogue") -> bytes:
    joined = "&" if "?" in address else "?"
    answer = Client().get(f"{address.removeprefix(HOST)}{joined}syntax={syntax}")
    assert answer.status_code == 200
    assert answer["Content-Type"] == SYNTAXES[syntax].media_type
    return answer.content


def graph(syntax: str) -> Any:
    return rdflib().Graph().parse(data=page(syntax), format=PARSERS[syntax])


def test_all_syntaxes_say_the_same(release: Release) -> None:
    lib = rdflib()
    from rdflib.compare import isomorphic

    other = install(make_dataset(title="Own terms", licence="Ask us\nfirst"), grid_release())
    graphs = []
    for syntax in SYNTAXES:
        read = graph(syntax)
        for view in list(read.subjects(lib.RDF.type, lib.URIRef(f"{HYDRA}PartialCollectionView"))):
            # Each page of the catalogue has a URL that contains the syntax, so the graphs differ in
            # it.
            read.remove((None, None, view))
            read.remove((view, None, None))
        graphs.append(read)
    assert len(graphs[0]) > 100
    assert lib.URIRef(f"{HOST}/maps/{other.pk}/") in set(graphs[0].subjects())
    for each in graphs[1:]:
        assert isomorphic(graphs[0], each)


@pytest.mark.parametrize("licence", ["CC BY 4.0", "Ask us first"])
def test_the_catalogue_conforms_to_dcat_ap(release: Release, licence: str) -> None:
    need(importlib.util.find_spec("pyshacl"), "pyshacl: make packages-full")
    import pyshacl

    redeclare(release.dataset, licence=licence)
    shapes = rdflib().Graph().parse(SHAPES)
    read = graph("turtle")
    conforms, _, words = pyshacl.validate(read, shacl_graph=shapes, inference="rdfs")
    assert conforms, words
    [title] = read.objects(rdflib().URIRef(f"{HOST}/maps/{release.pk}/"), rdflib().DCTERMS.title)
    read.remove((None, rdflib().DCTERMS.title, title))
    assert not pyshacl.validate(read, shacl_graph=shapes, inference="rdfs")[0]


@pytest.mark.parametrize("syntax", SYNTAXES)
def test_the_maps_of_a_series_are_in_one_dataset_series(syntax: str) -> None:
    need(importlib.util.find_spec("pyshacl"), "pyshacl: make packages-full")
    import pyshacl

    lib = rdflib()
    series = install_series(grid_release(8), 2)
    read = graph(syntax)
    node = lib.URIRef(f"{HOST}/series/{series.pk}/")
    dcat = lib.Namespace("http://www.w3.org/ns/dcat#")
    assert set(read.subjects(lib.RDF.type, dcat.DatasetSeries)) == {node}
    maps = {lib.URIRef(f"{HOST}/maps/{each.pk}/") for each in series.releases.all()}
    assert set(read.subjects(dcat.inSeries, node)) == maps
    assert str(next(read.objects(node, lib.DCTERMS.accrualPeriodicity))).endswith("/WEEKLY")
    conforms, _, words = pyshacl.validate(
        read, shacl_graph=lib.Graph().parse(SHAPES), inference="rdfs"
    )
    assert conforms, words


CKAN = {"ckan", "ckanext", "ckantoolkit"}
"""Packages that are unloaded after a test, because ckantoolkit fails on import without CKAN."""


@pytest.fixture
def ckan(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Yield ckanext-dcat's parser, with stand-ins for the few functions that it imports from CKAN.

    The parser and its profiles are the extension's own code. CKAN itself would require a database,
    Solr and fixed versions of Flask and other packages.
    """
    need(importlib.util.find_spec("ckanext"), "ckanext-dcat: make packages-full")

    class Register(dict[str, Any]):
        def __init__(self) -> None:
            super().__init__({"CC-BY-4.0": types.SimpleNamespace(url=CC_BY, title="CC BY 4.0")})

    def nothing(*_: Any, **__: Any) -> Any:
        return None

    def no_scheme(name: str) -> Any:
        raise KeyError(name)  # ckanext-scheming is not installed

    def truth(value: Any) -> bool:
        return str(value).lower() in {"true", "1", "yes"}

    toolkit = module(
        monkeypatch,
        "ckan.plugins.toolkit",
        **dict.fromkeys(("url_for", "h", "missing"), nothing),
        get_action=no_scheme,
        **dict.fromkeys(("ObjectNotFound", "StopOnError", "Invalid"), Exception),
        config={},
        asbool=truth,
        aslist=lambda value, *_: value or [],
        _=str,
    )
    plugins = module(
        monkeypatch, "ckan.plugins", toolkit=toolkit, PluginImplementations=lambda _: []
    )
    model = module(monkeypatch, "ckan.model")
    module(monkeypatch, "ckan", plugins=plugins, model=model, __path__=[])
    module(monkeypatch, "ckan.plugins.interfaces", Interface=object)
    module(monkeypatch, "ckan.model.license", LicenseRegister=Register)
    module(monkeypatch, "ckan.exceptions", HelperError=Exception)
    module(monkeypatch, "ckan.lib")
    module(monkeypatch, "ckan.lib.munge", munge_tag=str)
    module(monkeypatch, "ckan.lib.helpers", resource_formats=dict)
    module(monkeypatch, "ckan.views")
    module(monkeypatch, "ckan.views.home", index=nothing)
    module(monkeypatch, "ckan.views.dataset", read=nothing)
    monkeypatch.setitem(sys.modules, "simplejson", json)
    from ckanext.dcat.processors import RDFParser

    yield RDFParser
    for name in [name for name in sys.modules if name.partition(".")[0] in CKAN]:
        del sys.modules[name]


def module(monkeypatch: pytest.MonkeyPatch, name: str, **members: Any) -> types.ModuleType:
    made = types.ModuleType(name)
    vars(made).update(members)
    monkeypatch.setitem(sys.modules, name, made)
    return made
