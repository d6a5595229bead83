"""The catalogue of releases as DCAT-AP 3, one page at a time.

A harvester, such as CKAN's, follows the link `hydra:next` of each page. The last page has no such
link. All content of the catalogue is declared by publishers or computed from published files.
"""

from __future__ import annotations

from pathlib import PurePath

from rest_framework.request import Request

from dpgeo.api.answers import AnyRequest, address_of
from dpgeo.api.rdf import Node
from dpgeo.artefacts.statement import NAME as STATEMENT
from dpgeo.core.licences import licence_url
from dpgeo.core.series import Period
from dpgeo.core.themes import THEMES, VOCABULARY, theme_url
from dpgeo.datasets.models import Dataset
from dpgeo.releases.models import Release, ReleaseFile, Series

AUTHORITY = "http://publications.europa.eu/resource/authority"
MEDIA_TYPES = "https://www.iana.org/assignments/media-types"

CHECKSUM = {
    "@id": "http://spdx.org/rdf/terms#checksumAlgorithm_sha256",
    "@type": "spdx:ChecksumAlgorithm",
}

FILE_TYPES = {
    ".csv": "CSV",
    ".geojson": "GEOJSON",
    ".gpkg": "GPKG",
    ".parquet": "PARQUET",
    ".tif": "GEOTIFF",
}
"""Terms of the EU's file-type vocabulary, by file name suffix."""

FREQUENCY = {Period.DAY: "DAILY", Period.WEEK: "WEEKLY", Period.MONTH: "MONTHLY"}
"""Terms of the EU's frequency vocabulary, by the length of a series' periods."""

CATALOGUE_PUBLISHER = "Publishers of this server"


def catalogue(request: Request, next_url: str | None) -> Node:
    """Return the document of one catalogue page, without its datasets.

    `next_url` is None on the last page.
    """
    view: Node = {
        "@id": request.build_absolute_uri(),
        "@type": "hydra:PartialCollectionView",
    }
    if next_url:
        view["hydra:next"] = {"@id": next_url}
    return {
        "@id": address_of(request, "api:catalogue"),
        "@type": "dcat:Catalog",
        "dcterms:title": "Differentially private maps",
        "dcterms:description": "Every map published here. Every count has noise, whose size is "
        "stated.",
        "dcterms:publisher": {"@type": "foaf:Agent", "foaf:name": CATALOGUE_PUBLISHER},
        "foaf:homepage": _document(address_of(request, "catalogue")),
        "dcat:themeTaxonomy": {
            "@id": VOCABULARY,
            "@type": "skos:ConceptScheme",
            "dcterms:title": "Data theme",
        },
        "hydra:view": view,
    }


def reference(request: AnyRequest, release_id: str) -> Node:
    """Return a node that refers to a release by its address alone."""
    return {"@id": address_of(request, "release", release_id)}


def dataset(request: AnyRequest, release: Release) -> Node:
    """Return a release as a DCAT dataset; the release's files are its distributions."""
    declared = release.dataset
    publisher = declared.organisation
    privacy = address_of(request, "release-privacy", release.pk)
    statement = address_of(request, "api:release-file", release.pk, STATEMENT)
    document: Node = {
        **reference(request, release.pk),
        "@type": "dcat:Dataset",
        "dcterms:identifier": release.pk,
        "dcterms:title": release.title,
        "dcterms:description": release.description or release.title,
        "dcterms:publisher": {"@type": "foaf:Agent", "foaf:name": publisher.name},
        "dcterms:license": _licence(declared),
        "dcterms:accessRights": {
            "@id": f"{AUTHORITY}/access-right/PUBLIC",
            "@type": "dcterms:RightsStatement",
        },
        "dcterms:spatial": {
            "@type": "dcterms:Location",
            "dcat:bbox": {
                "@type": "geosparql:wktLiteral",
                "@value": _box(declared.bounds),
            },
        },
        "foaf:page": [_document(privacy), _document(statement)],
        "dcat:landingPage": _document(address_of(request, "release", release.pk)),
        **_found_by(release),
        "dcat:distribution": [_distribution(request, release, each) for each in _files(release)],
    }
    if release.published_at:
        document["dcterms:issued"] = _day(release.published_at.date().isoformat())
    if release.series is not None:
        document["dcat:inSeries"] = _series(request, release.series)
    return document


def _series(request: AnyRequest, series: Series) -> Node:
    """Return a series as a DCAT dataset series.

    Every map of the series repeats this node, so no part of the node may be a blank node: a page
    with two maps of the series would contain the blank node twice.
    """
    return {
        "@id": address_of(request, "series", series.pk),
        "@type": "dcat:DatasetSeries",
        "dcterms:title": series.title,
        "dcterms:description": series.description or series.title,
        "dcterms:accrualPeriodicity": {
            "@id": f"{AUTHORITY}/frequency/{FREQUENCY[series.terms.period]}",
            "@type": "dcterms:Frequency",
        },
    }


def _found_by(release: Release) -> Node:
    """Return the facts by which data portals find a release: contact, keywords, themes, period."""
    declared = release.dataset
    node: Node = {}
    if address := declared.contact_address:
        node["dcat:contactPoint"] = {
            "@type": "vcard:Kind",
            "vcard:fn": declared.organisation.name,
            "vcard:hasEmail": {"@id": f"mailto:{address}"},
        }
    if declared.keywords:
        node["dcat:keyword"] = [*declared.keywords]
    if declared.themes:
        node["dcat:theme"] = [
            {"@id": theme_url(code), "@type": "skos:Concept", "skos:prefLabel": THEMES[code]}
            for code in declared.themes
        ]
    first, last = release.covers
    if first or last:
        days = {"dcat:startDate": first, "dcat:endDate": last}
        node["dcterms:temporal"] = {
            "@type": "dcterms:PeriodOfTime",
            **{name: _day(day.isoformat()) for name, day in days.items() if day},
        }
    return node


def _licence(declared: Dataset) -> Node:
    """Return the licence as a node, identified by the licence's URL if that is known."""
    address = licence_url(declared.licence)
    document: Node = {"@type": "dcterms:LicenseDocument", "dcterms:title": declared.licence}
    if address:
        return {"@id": address, **document}
    return {**document, "rdfs:label": declared.licence}


def _files(release: Release) -> list[ReleaseFile]:
    """Return the release's files that contain a layer of the map."""
    return [file for file in release.files.all() if file.kind.layer and not file.kind.style]


def _distribution(request: AnyRequest, release: Release, file: ReleaseFile) -> Node:
    kind = file.kind
    address = address_of(request, "api:release-file", release.pk, file.name)
    media_type = file.media_type.partition(";")[0]
    document: Node = {
        "@id": address,
        "@type": "dcat:Distribution",
        "dcterms:title": f"{kind.title}: {kind.layer}",
        "dcterms:description": kind.use,
        "dcterms:license": _licence(release.dataset),
        "dcterms:format": _format(file),
        "dcat:accessURL": {"@id": address},
        "dcat:downloadURL": {"@id": address},
        "dcat:mediaType": {"@id": f"{MEDIA_TYPES}/{media_type}", "@type": "dcterms:MediaType"},
    }
    if file.is_made:
        document |= {
            "dcat:byteSize": {"@type": "xsd:nonNegativeInteger", "@value": str(file.size)},
            "spdx:checksum": {
                "@type": "spdx:Checksum",
                "spdx:algorithm": CHECKSUM,
                "spdx:checksumValue": {"@type": "xsd:hexBinary", "@value": file.sha256},
            },
        }
    if words := release.dataset.attribution:
        document["dcterms:rights"] = {"@type": "dcterms:RightsStatement", "rdfs:label": words}
    return document


def _format(file: ReleaseFile) -> Node:
    document = {"@type": "dcterms:MediaTypeOrExtent", "rdfs:label": file.kind.title}
    term = FILE_TYPES.get(PurePath(file.name).suffix)
    return {"@id": f"{AUTHORITY}/file-type/{term}", **document} if term else document


def _document(address: str) -> Node:
    return {"@id": address, "@type": "foaf:Document"}


def _day(day: str) -> Node:
    return {"@type": "xsd:date", "@value": day}


def _box(bounds: tuple[float, float, float, float]) -> str:
    west, south, east, north = bounds
    corners = ((west, south), (east, south), (east, north), (west, north), (west, south))
    return f"POLYGON(({','.join(f'{x} {y}' for x, y in corners)}))"
