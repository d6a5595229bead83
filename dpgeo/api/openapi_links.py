"""What the OpenAPI schema says beside what drf-spectacular has words for.

Links lead from answers to what may be asked with what they hold, parts of files are bytes whatever
the media type of the whole, and the web server itself refuses addresses that are too long, of
whatever operation.
"""

from __future__ import annotations

from typing import Any

from dpgeo.api.problems import ADDRESS_TOO_LONG, MEDIA_TYPE

LINKS: dict[tuple[str, str], dict[str, dict[str, str]]] = {
    ("datasets", "200"): {"dataset": {"slug": "$response.body#/results/0/slug"}},
    ("dataset_create", "201"): {
        name: {"slug": "$response.body#/slug"}
        for name in ("dataset", "dataset_update", "layers", "layer_add", "quote", "upload_begin")
    },
    ("layer_add", "201"): {
        "layer_remove": {"slug": "$request.path.slug", "name": "$response.body#/name"}
    },
    ("upload_begin", "201"): {
        name: {"upload_id": "$response.body#/id"}
        for name in ("upload", "upload_append", "upload_discard")
    },
    ("upload_append", "200"): {
        name: {"upload_id": "$response.body#/id"}
        for name in ("upload", "upload_append", "upload_complete")
    },
    ("upload_complete", "200"): {
        name: {"upload_id": "$response.body#/id"}
        for name in ("upload", "upload_preview", "upload_confirm", "upload_discard")
    },
    ("release_request", "202"): {"job": {"job_id": "$response.body#/id"}},
    ("releases", "200"): {"release": {"release_id": "$response.body#/results/0/id"}},
    ("release", "200"): {
        **{
            name: {"release_id": "$response.body#/id"}
            for name in (
                "release_query_box",
                "release_query",
                "release_publish",
                "release_reject",
                "release_withdraw",
                "release_cancel",
            )
        },
        "release_file": {
            "release_id": "$response.body#/id",
            "name": "$response.body#/files/0/name",
        },
        "tilejson": {"release_id": "$response.body#/id", "layer": "$response.body#/files/0/layer"},
    },
    ("mechanisms", "200"): {"mechanism": {"key": "$response.body#/results/0/key"}},
    ("campaigns", "200"): {"campaign": {"campaign_id": "$response.body#/results/0/id"}},
    ("campaign_create", "201"): {
        name: {"campaign_id": "$response.body#/id"} for name in ("campaign", "campaign_delete")
    },
}
"""By operation and status: the operations that may follow, and where their parameters are found."""

PART = "206"

BYTES: dict[str, Any] = {"*/*": {}}
"""A part has the media type of its file, but half a document is none."""

TOO_LONG: dict[str, Any] = {
    "description": ADDRESS_TOO_LONG.title,
    "content": {
        MEDIA_TYPE: {
            "schema": {"$ref": "#/components/schemas/Problem"},
            "examples": {"AddressTooLong": {"value": ADDRESS_TOO_LONG.document()}},
        }
    },
}


def link_operations(
    result: dict[str, Any], generator: Any, request: Any, public: bool
) -> dict[str, Any]:
    """Add these to the schema that drf-spectacular made; called by it. Raises KeyError for a link
    from an answer that is not described."""
    operations = {
        operation["operationId"]: operation
        for methods in result["paths"].values()
        for operation in methods.values()
    }
    for (name, status), links in LINKS.items():
        operations[name]["responses"][status]["links"] = {
            following: {"operationId": operations[following]["operationId"], "parameters": found}
            for following, found in links.items()
        }
    for operation in operations.values():
        if PART in operation["responses"]:
            operation["responses"][PART]["content"] = BYTES
        operation["responses"]["414"] = TOO_LONG
    return result
