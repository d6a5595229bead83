"""Examples of what keys and members send and get. The tests check each against the schema."""

from __future__ import annotations

from typing import Any

from dpgeo.api.examples import DATASET, HOST, RELEASE, RELEASE_URL

UPLOAD_ID = "0b0f2c1e-6f0a-4d5e-9b6e-2d9a52a8f001"
UPLOAD_URL = f"{HOST}/api/v1/uploads/{UPLOAD_ID}"
JOB_ID = "5d0c8f5a-94a5-5c3e-8f0e-0a4b7a3f2c11"
JOB_URL = f"{HOST}/api/v1/jobs/{JOB_ID}"

COLUMNS = {
    "longitude": "lon",
    "latitude": "lat",
    "person": "device",
    "time": "seen",
    "geometry": "",
    "crs": "EPSG:4326",
}

UPLOAD: dict[str, Any] = {
    "id": UPLOAD_ID,
    "url": UPLOAD_URL,
    "dataset": "walks",
    "file_name": "walks.csv",
    "size": 1048576,
    "offset": 1048576,
    "state": "received",
    "usable": False,
    "job_url": None,
}

BEGUN = {**UPLOAD, "offset": 0, "state": "receiving"}

JOB: dict[str, Any] = {
    "id": JOB_ID,
    "url": JOB_URL,
    "state": "queued",
    "release_url": RELEASE_URL,
    "upload_url": None,
    "has_result": False,
}

REQUEST: dict[str, Any] = {
    "mechanism": "uniform-grid",
    "parameters": {"cells": 64},
    "epsilon": "0.5",
    "bound": 10,
    "counting": "people",
    "bounding": "random",
}

LAYER: dict[str, Any] = {
    "name": "wards",
    "url": f"{HOST}/api/v1/datasets/walks/layers/wards",
    "kind": "zones",
    "title": "Wards of 2026",
    "features": 31,
    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "used": False,
}

QUOTE: dict[str, Any] = {
    "dataset": "walks",
    **REQUEST,
    "notion": "pure-dp",
    "cost": "epsilon 0.5",
    "plan": [{"what": "cell counts", "epsilon": "0.5", "cost": "epsilon 0.5"}],
    "forecast": {
        "region": "cell",
        "regions": 4096,
        "margin": 60,
        "stands_out_from": 124,
        "radius_50": None,
        "radius_95": None,
        "ground_metres": 223.0,
        "caution": "",
        "facts": [],
    },
    "left_before": "2",
    "left_after": "1.5",
    "more_like_this": 3,
    "warnings": [],
    "advice": {
        "best_bound": 2,
        "error": 31.2,
        "error_at_best": 28.4,
        "curve": [{"bound": 1, "error": 30.9}, {"bound": 2, "error": 28.4}],
    },
}

DRAFT = {**RELEASE, "state": "draft", "published_on": None}
REJECTED = {**DRAFT, "state": "rejected", "files": [], "statement_url": None}
WITHDRAWN = {
    **RELEASE,
    "state": "withdrawn",
    "withdrawn_on": "2026-04-02",
    "files": [],
    "statement_url": None,
}

ANSWERS: dict[str, Any] = {
    "dataset_create": {**DATASET, "cautions": []},
    "dataset_update": {**DATASET, "cautions": []},
    "upload_begin": BEGUN,
    "upload": UPLOAD,
    "upload_append": {**BEGUN, "offset": 524288},
    "upload_complete": UPLOAD,
    "upload_preview": {"columns": ["device", "lon", "lat", "seen"], "suggested": COLUMNS},
    "upload_confirm": {**UPLOAD, "state": "queued", "job_url": JOB_URL},
    "quote": QUOTE,
    "release_request": JOB,
    "release_publish": RELEASE,
    "release_reject": REJECTED,
    "release_refuse": {**REJECTED, "state": "refused"},
    "release_withdraw": WITHDRAWN,
    "release_cancel": DRAFT,
    "layers": {"results": [LAYER], "next": None},
    "layer_add": LAYER,
    "layer_remove": {"results": [], "next": None},
    "release_query": {
        "release": RELEASE["id"],
        "counting": "people",
        "bound": 10,
        "confidence": 0.95,
        "meaning": "People, each counted once in every measured area they were seen in, as far as "
        "the bound allows.",
        "results": [
            {
                "id": None,
                "estimate": 1280.5,
                "margin": 210.2,
                "low": 1070.3,
                "high": 1490.7,
                "exact": False,
                "areas": 12,
                "cut": 7,
                "notes": [
                    "The region's edge cuts measured areas, which add the share of their ground "
                    "that lies within. The interval holds the noise alone: how unevenly people "
                    "are spread there is unknown."
                ],
            }
        ],
    },
    "job": {**JOB, "state": "done", "has_result": True},
    "budgets": {
        "results": [
            {
                "dataset": "walks",
                "total": "2",
                "spent": "0.5",
                "left": "1.5",
                "points": None,
                "shared_with": [],
            }
        ],
        "next": None,
    },
}

CAMPAIGN_TASKS = [
    {"name": "Quay lamps", "longitude": 10.07, "latitude": 50.06},
    {"name": "Ring road sign", "longitude": 10.19, "latitude": 50.01, "reward": 9},
]

SETTINGS: dict[str, Any] = {
    "target": 0.9,
    "total_reward": 40.0,
    "willingness": 50.0,
    "least_reward": 1.0,
    "travel_metres": 3000.0,
    "worker_share": 0.1,
    "model": "field",
    "density": "bilinear",
}

PLANNED: dict[str, Any] = {
    "reward": 40.0,
    "radius_metres": 181.52,
    "notified": 2.311,
    "notified_margin": 0.204,
    "acceptance": 0.996352,
    "success": 0.9,
    "reason": "",
    "explanation": "",
}

CAMPAIGN: dict[str, Any] = {
    "id": "mJr2Zk8vQ1sYt0aPbXcDgA",
    "url": f"{HOST}/api/v1/campaigns/mJr2Zk8vQ1sYt0aPbXcDgA",
    "page": f"{HOST}/plan/?campaign=mJr2Zk8vQ1sYt0aPbXcDgA",
    "name": "Lamps in March",
    "organisation": "example-city",
    "release": RELEASE["id"],
    "settings": SETTINGS,
    "tasks": CAMPAIGN_TASKS,
    "shared": True,
}

PLAN: dict[str, Any] = {
    "release": RELEASE["id"],
    "lines_per_km2": [55.2, 110.4, 220.8],
    "totals": {
        "uniform": {
            "planned": 1,
            "not_planned": 1,
            "reward": 40.0,
            "notified": 2.311,
            "expected_done": 0.9,
            "largest_radius_metres": 181.52,
        }
    },
    "tasks": [
        {
            "name": "Quay lamps",
            "longitude": 10.07,
            "latitude": 50.06,
            "density_per_km2": 223.25,
            "plans": {"uniform": PLANNED},
        },
        {
            "name": "Ring road sign",
            "longitude": 10.19,
            "latitude": 50.01,
            "density_per_km2": 0.0,
            "plans": {
                "uniform": {
                    **dict.fromkeys(PLANNED),
                    "reason": "nobody_near",
                    "explanation": "The map shows nobody within the travel limit; move it or "
                    "raise the limit.",
                }
            },
        },
    ],
}

ANSWERS |= {
    "plan": PLAN,
    "campaigns": {"results": [CAMPAIGN], "next": None},
    "campaign_create": CAMPAIGN,
    "campaign": CAMPAIGN,
    "campaign_delete": CAMPAIGN,
}

BODIES: dict[str, Any] = {
    "plan": {
        "release": RELEASE["id"],
        "tasks": CAMPAIGN_TASKS,
        **SETTINGS,
        "allocations": ["uniform"],
    },
    "campaign_create": {
        "name": "Lamps in March",
        "release": RELEASE["id"],
        "tasks": CAMPAIGN_TASKS,
        "settings": SETTINGS,
        "shared": True,
    },
    "dataset_create": {
        "title": "Walks",
        "description": "Walks of volunteers in an invented city.",
        "unit": "person",
        "study_area": DATASET["study_area"],
        "time_zone": "Europe/Berlin",
        "public_attributes": DATASET["public_attributes"],
        "licence": "CC BY 4.0",
        "budget": "2",
    },
    "dataset_update": {"description": "Walks of volunteers in spring."},
    "upload_begin": {"file_name": "walks.csv", "size": 1048576},
    "upload_confirm": {
        "columns": {"longitude": "lon", "latitude": "lat", "person": "device", "time": "seen"}
    },
    "quote": {**REQUEST, "guess": {"people": 10000, "records": 20, "share": 0.0001}},
    "layer_add": {
        "name": "wards",
        "title": "Wards of 2026",
        "layer": {
            "type": "FeatureCollection",
            "features": [
                {
                    "type": "Feature",
                    "properties": {"code": "E05", "name": "Harbour"},
                    "geometry": {
                        "type": "Polygon",
                        "coordinates": [
                            [[10.05, 50.02], [10.15, 50.02], [10.1, 50.08], [10.05, 50.02]]
                        ],
                    },
                }
            ],
        },
    },
    "release_reject": {"reason": "Too little stands out from the noise."},
    "release_refuse": {"reason": "Too little stands out from the noise."},
    "release_query": {
        "polygon": {
            "type": "Polygon",
            "coordinates": [[[10.05, 50.02], [10.15, 50.02], [10.1, 50.08], [10.05, 50.02]]],
        }
    },
    "release_request": {
        "dataset": "walks",
        "title": "Evening walks",
        **REQUEST,
        "publish_when_done": False,
    },
}
