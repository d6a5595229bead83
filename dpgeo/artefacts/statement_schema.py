"""The form of the privacy statement as JSON Schema, so that programs may rely on it.

The fields answer those of all three tiers of the Differential Privacy Deployments Registry
(registry.opendp.org/transparency-tiers): who publishes what and why; notion, unit, parameters and
deployment model; and beyond these data domain, unprotected quantities, actors, preparation,
accounting, post-processing, implementation and security, and the reasons for choices. Which field
answers which is in docs/statement.md. Statements never change, so the forms of earlier versions
stay.
"""

from __future__ import annotations

from typing import Any

from dpgeo.artefacts.statement import FORMAT, VERSION, schema_address

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
WORDS: Schema = {"type": "string", "minLength": 1}
WHOLE: Schema = {"type": "integer", "minimum": 0}
NUMBER: Schema = {"type": "number"}
DECIMAL: Schema = {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?$"}
EXACT: Schema = {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+|/[1-9][0-9]*)?$"}
"""A decimal, or a fraction where none is exact, as with an epsilon that is divided among levels."""
LIST_OF_WORDS: Schema = {"type": "array", "items": WORDS, "minItems": 1}


def record(optional: dict[str, Schema] | None = None, /, **required: Schema) -> Schema:
    """An object with these members and no others."""
    return {
        "type": "object",
        "required": list(required),
        "properties": {**required, **(optional or {})},
        "additionalProperties": False,
    }


def or_null(schema: Schema) -> Schema:
    """The same, or null."""
    return {"anyOf": [schema, {"type": "null"}]}


ODDS = or_null({"type": "number", "minimum": 1})

NEIGHBOURS = record(words=WORDS, symbols=WORDS)

PURE = record(
    notion={"const": "pure differential privacy"},
    delta={"const": "0"},
    symbols=WORDS,
    neighbours=NEIGHBOURS,
    epsilon=DECIMAL,
    odds_factor=ODDS,
)

GEO = record(
    notion={"const": "geo-indistinguishability"},
    delta={"const": "0"},
    symbols=WORDS,
    neighbours=NEIGHBOURS,
    level=WORDS,
    epsilon_per_metre=DECIMAL,
    reports=WHOLE,
    epsilon_per_metre_of_one_report=DECIMAL,
)

POINTS = record(level=WORDS, radius=WHOLE, epsilon_per_metre=DECIMAL)

DATASET_GUARANTEE = record(
    {"points": POINTS}, epsilon=DECIMAL, odds_factor=ODDS, sentence=WORDS, meaning=WORDS
)

NOISE: Schema = {
    "type": "object",
    "required": ["distribution"],
    "properties": {"distribution": WORDS, "probability": WORDS, "scale": NUMBER},
}
"""Each distribution has parameters of its own."""

SPEND: Schema = {
    "type": "object",
    "required": ["label", "epsilon", "drawn", "noise"],
    "properties": {
        "label": WORDS,
        "epsilon": EXACT,
        "drawn": {"type": "boolean"},
        "sensitivity": NUMBER,
        "meaning": WORDS,
        "noise": or_null(NOISE),
    },
}

RANGE = or_null(record(smallest=NUMBER, largest=NUMBER))

EXPECTED_ERROR = record(
    layer=WORDS,
    title=WORDS,
    kind={"enum": ["measured", "inferred"]},
    values=WHOLE,
    margin_95=RANGE,
    margin_label=WORDS,
    margin_note=TEXT,
    stands_out_from=RANGE,
    listed_from=or_null(NUMBER),
)

FILE = record(
    name=WORDS, media_type=WORDS, sha256={"type": "string", "pattern": "^[0-9a-f]{64}$"}, size=WHOLE
)


ADDED: dict[str, dict[str, Schema]] = {
    "1.1": {},
    VERSION: {
        "publisher_sector": TEXT,
        "product": record(
            type={"enum": ["Summary statistics", "Dataset", "Synthetic data"]}, intended_use=WORDS
        ),
        "number_of_units": WORDS,
        "actors": LIST_OF_WORDS,
        "release_type": WORDS,
        "data_source_type": WORDS,
        "access_type": WORDS,
        "preparation": LIST_OF_WORDS,
    },
}
"""What each version has beside the fields of 1.1."""


def statement_schema(version: str = VERSION) -> Schema:
    """JSON Schema (2020-12) of a version of the statement. Raises KeyError where it is unknown."""
    schema = record(
        **ADDED[version],
        format={"const": FORMAT},
        version={"const": version},
        schema={"const": schema_address(version)},
        title=TEXT,
        description=TEXT,
        requested_on=or_null({"type": "string", "format": "date"}),
        dataset=record(title=TEXT, slug=TEXT),
        publisher=TEXT,
        contact=TEXT,
        licence=TEXT,
        attribution=TEXT,
        citation=WORDS,
        counts=record(counting=WORDS, meaning=WORDS),
        unit_of_privacy=record(unit={"enum": ["person", "record"]}, meaning=WORDS),
        contribution_bound=record(bound={"type": "integer", "minimum": 1}, meaning=WORDS),
        guarantee={"oneOf": [PURE, GEO]},
        dataset_guarantee=or_null(DATASET_GUARANTEE),
        mechanism=record(key=WORDS, parameters={"type": "object"}),
        deployment_model=WORDS,
        data_domain=WORDS,
        spends={"type": "array", "items": SPEND, "minItems": 1},
        accounting=WORDS,
        expected_error={"type": "array", "items": EXPECTED_ERROR},
        post_processing=LIST_OF_WORDS,
        not_protected=LIST_OF_WORDS,
        known_limits=LIST_OF_WORDS,
        rationale=LIST_OF_WORDS,
        implementation=record(software=WORDS, noise=WORDS, security=WORDS),
        proof=record(argument=WORDS, references=WORDS, where=WORDS),
        study_area={"type": "object", "required": ["type"]},
        software=WORDS,
        files={"type": "array", "items": FILE, "minItems": 1},
    )
    return {"$schema": DIALECT, "title": "Privacy statement of a release", **schema}
