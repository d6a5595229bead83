"""The catalogue of releases as DCAT-AP 3 in JSON-LD, one page at a time.

A harvester, such as CKAN's, follows the link `hydra:next` of each page. The last page has none.
"""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request

from dpgeo.api.documents import AnyRequest, address_of
from dpgeo.artefacts.statement import NAME as STATEMENT
from dpgeo.releases.models import Release, ReleaseFile

MEDIA_TYPE = "application/ld+json"

Document = dict[str, Any]

CONTEXT: Document = {
    "dcat": "http://www.w3.org/ns/dcat#",
    "dcterms": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "hydra": "http://www.w3.org/ns/hydra/core#",
    "spdx": "http://spdx.org/rdf/terms#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "geosparql": "http://www.opengis.net/ont/geosparql#",
}

CHECKSUM = {"@id": "http://spdx.org/rdf/terms#checksumAlgorithm_sha256"}

CATALOGUE_PUBLISHER = "Publishers of this server"


def catalogue(request: Request, next_url: str | None) -> Document:
    """Return one page of the catalogue as JSON-LD, without its datasets.

    `next_url` is None on the last page.
    """
    view: Document = {
        "@id": request.build_absolute_uri(),
        "@type": "hydra:PartialCollectionView",
    }
    if next_url:
        view["hydra:next"] = {"@id": next_url}
    return {
        "@context": CONTEXT,
        "@id": address_of(request, "api:catalogue"),
        "@type": "dcat:Catalog",
        "dcterms:title": "Differentially private maps",
        "dcterms:description": "Every map published here. Every count has noise, whose size is "
        "stated.",
        "dcterms:publisher": {"@type": "foaf:Agent", "foaf:name": CATALOGUE_PUBLISHER},
        "foaf:homepage": {"@id": address_of(request, "catalogue")},
        "hydra:view": view,
    }


def dataset(request: AnyRequest, release: Release) -> Document:
    """Return a release as a DCAT dataset; the release's files are its distributions."""
    page = address_of(request, "release", release.pk)
    declared = release.dataset
    publisher = declared.organisation
    document: Document = {
        "@id": page,
        "@type": "dcat:Dataset",
        "dcterms:identifier": release.pk,
        "dcterms:title": release.title,
        "dcterms:description": release.description or release.title,
        "dcterms:publisher": {"@type": "foaf:Agent", "foaf:name": publisher.name},
        "dcterms:license": declared.licence,
        "dcterms:accessRights": {
            "@id": "http://publications.europa.eu/resource/authority/access-right/PUBLIC"
        },
        "dcterms:spatial": {
            "@type": "dcterms:Location",
            "dcat:bbox": {
                "@type": "geosparql:wktLiteral",
                "@value": _box(declared.bounds),
            },
        },
        "dcterms:conformsTo": {
            "@id": address_of(request, "api:release-file", release.pk, STATEMENT)
        },
        "dcat:landingPage": {"@id": page},
        "dcat:distribution": [_distribution(request, release, each) for each in _files(release)],
    }
    if publisher.contact:
        document["dcat:contactPoint"] = {"@id": f"mailto:{publisher.contact}"}
    if release.published_at:
        day = release.published_at.date().isoformat()
        document["dcterms:issued"] = {"@type": "xsd:date", "@value": day}
    return document


def _files(release: Release) -> list[ReleaseFile]:
    """Return the release's files that contain a layer of the map."""
    return [file for file in release.files.all() if file.kind.layer]


def _distribution(request: AnyRequest, release: Release, file: ReleaseFile) -> Document:
    kind = file.kind
    address = address_of(request, "api:release-file", release.pk, file.name)
    media_type = file.media_type.partition(";")[0]
    return {
        "@id": address,
        "@type": "dcat:Distribution",
        "dcterms:title": f"{kind.title}: {kind.layer}",
        "dcterms:license": release.dataset.licence,
        "dcat:accessURL": {"@id": address},
        "dcat:downloadURL": {"@id": address},
        "dcat:mediaType": {"@id": f"https://www.iana.org/assignments/media-types/{media_type}"},
        "dcat:byteSize": {"@type": "xsd:nonNegativeInteger", "@value": str(file.size)},
        "spdx:checksum": {
            "@type": "spdx:Checksum",
            "spdx:algorithm": CHECKSUM,
            "spdx:checksumValue": {"@type": "xsd:hexBinary", "@value": file.sha256},
        },
    }


def _box(bounds: tuple[float, float, float, float]) -> str:
    west, south, east, north = bounds
    corners = ((west, south), (east, south), (east, north), (west, north), (west, south))
    return f"POLYGON(({','.join(f'{x} {y}' for x, y in corners)}))"
