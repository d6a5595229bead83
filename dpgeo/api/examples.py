"""Examples in the OpenAPI schema: an invented city. The tests check each against the schema."""

from __future__ import annotations

from typing import Any

from dpgeo.api.problems import Problem

HOST = "https://maps.example.org"

PRIVACY: dict[str, Any] = {
    "sentence": "Whether you were in the data changes the odds of anything published from it by "
    "at most a factor 7.39.",
    "total_epsilon": "2",
    "points": None,
    "odds_factor": 7.38905609893065,
}

PUBLISHER = {"slug": "example-city", "name": "Example City", "contact": "maps@example.org"}

RELEASE_ID = "q0tPZ2xvbmdzaGFkb3dzAA"
RELEASE_URL = f"{HOST}/api/v1/releases/{RELEASE_ID}"

RELEASE: dict[str, Any] = {
    "id": RELEASE_ID,
    "url": RELEASE_URL,
    "state": "published",
    "title": "Evening walks",
    "description": "Where people walk after six.",
    "dataset": {"slug": "walks", "title": "Walks"},
    "publisher": PUBLISHER,
    "licence": "CC BY 4.0",
    "attribution": "Example City",
    "kind": "heatmap",
    "mechanism": "uniform-grid",
    "parameters": {"cells": 64},
    "notion": "pure-dp",
    "cost": "epsilon 0.5",
    "epsilon": "0.5",
    "bound": 10,
    "counting": "people",
    "bounding": "random",
    "unit": "person",
    "bbox": [10.0, 50.0, 10.2, 50.1],
    "published_on": "2026-03-31",
    "withdrawn_on": None,
    "privacy": PRIVACY,
    "files": [
        {
            "name": "cells.parquet",
            "format": "GeoParquet",
            "use": "columns, for notebooks and QGIS",
            "layer": "cells",
            "url": f"{RELEASE_URL}/files/cells.parquet",
            "media_type": "application/vnd.apache.parquet",
            "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "size": 51234,
        }
    ],
    "statement_url": f"{RELEASE_URL}/files/statement.json",
    "links": {
        "self": RELEASE_URL,
        "page": f"{HOST}/maps/{RELEASE_ID}/",
        "privacy": f"{HOST}/maps/{RELEASE_ID}/privacy/",
        "mechanism": f"{HOST}/api/v1/mechanisms/uniform-grid",
        "dataset": f"{HOST}/api/v1/datasets/walks",
    },
}

DATASET: dict[str, Any] = {
    "slug": "walks",
    "url": f"{HOST}/api/v1/datasets/walks",
    "title": "Walks",
    "description": "Walks of volunteers in an invented city.",
    "publisher": PUBLISHER,
    "licence": "CC BY 4.0",
    "attribution": "Example City",
    "unit": "person",
    "time_zone": "Europe/Berlin",
    "public_attributes": [{"column": "app", "values": ["1.4", "2.0"]}],
    "bbox": [10.0, 50.0, 10.2, 50.1],
    "study_area": {
        "type": "Polygon",
        "coordinates": [[[10.0, 50.0], [10.2, 50.0], [10.2, 50.1], [10.0, 50.1], [10.0, 50.0]]],
    },
    "privacy": PRIVACY,
    "releases_url": f"{HOST}/api/v1/releases?dataset=walks",
}

MECHANISM: dict[str, Any] = {
    "key": "uniform-grid",
    "url": f"{HOST}/api/v1/mechanisms/uniform-grid",
    "title": "Uniform grid",
    "summary": "Equal squares, each with its own noise.",
    "kind": "heatmap",
    "parameters": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "cells": {
                "type": "integer",
                "description": "Cells along each side.",
                "default": 64,
                "minimum": 1,
                "maximum": 4096,
            }
        },
    },
}

TILEJSON: dict[str, Any] = {
    "tilejson": "3.0.0",
    "name": "Evening walks: Counts of cells",
    "description": "The margin is the exact 95 % quantile of the noise added to the cell.",
    "attribution": "Example City",
    "tiles": [f"{RELEASE_URL}/tiles/cells/{{z}}/{{x}}/{{y}}.pbf"],
    "vector_layers": [
        {
            "id": "cells",
            "fields": {"estimate": "Number", "margin": "Number", "threshold": "Number"},
            "minzoom": 9,
            "maxzoom": 12,
        }
    ],
    "minzoom": 9,
    "maxzoom": 12,
    "bounds": [10.0, 50.0, 10.2, 50.1],
}

ANSWERS: dict[str, Any] = {
    "tilejson": TILEJSON,
    "releases": {
        "results": [RELEASE],
        "next": f"{HOST}/api/v1/releases?limit=1&cursor=WyIyMDI2LTAzLTMxIl0",
    },
    "release": RELEASE,
    "datasets": {"results": [DATASET], "next": None},
    "dataset": DATASET,
    "mechanisms": {"results": [MECHANISM], "next": None},
    "mechanism": MECHANISM,
}

DETAILS: dict[str, tuple[str, str]] = {
    "invalid-input": ("Must be four numbers: west,south,east,north in degrees.", "bbox"),
    "range-not-satisfiable": (
        "The range starts beyond the end of the file, which has 51234 bytes.",
        "Range",
    ),
}
"""Detail and field where an example has its own."""


def problem(kind: Problem) -> dict[str, Any]:
    """An answer that says what went wrong."""
    detail, field = DETAILS.get(kind.kind, ("", ""))
    return kind.document(detail, field=field)
