from __future__ import annotations

from dataclasses import dataclass

import pytest

from dpgeo.core.errors import InvalidInput
from dpgeo.core.parameters import json_schema, param, parameters, parse_parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    cells: int = param(
        64, "Cells along each side.", low=1, high=4096, beyond="Choose another example."
    )
    answers: str = param("uniform", "How cells are estimated.", choices=("uniform", "exact"))
    smooth: bool = param(False, "Whether to smooth.")


def test_missing_parameters_take_their_defaults() -> None:
    assert parse_parameters(Example, {}) == Example()
    assert parse_parameters(Example, {"cells": 3}) == Example(cells=3)


def test_forms_and_json_are_read_alike() -> None:
    form = {"cells": " 128 ", "answers": "exact", "smooth": "True"}
    json = {"cells": 128, "answers": "exact", "smooth": True}

    assert parse_parameters(Example, form) == parse_parameters(Example, json)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("cels", 3, "did you mean 'cells'"),
        ("zzzz", 3, "cells, answers, smooth"),
        ("cells", 0, "from 1 to 4096"),
        ("cells", 10**9, "from 1 to 4096; 1000000000 is not. Choose another example.$"),
        ("cells", -1, "from 1 to 4096; -1 is not.$"),
        ("cells", 1.5, "whole number"),
        ("cells", True, "whole number"),
        ("cells", "many", "whole number"),
        ("cells", None, "whole number"),
        ("cells", "1e3", "whole number"),
        ("answers", "other", "uniform, exact"),
        ("smooth", 1, "true or false"),
        ("smooth", "yes", "true or false"),
    ],
)
def test_an_error_names_the_wrong_parameter(name: str, value: object, said: str) -> None:
    with pytest.raises(InvalidInput, match=said) as caught:
        parse_parameters(Example, {name: value})
    assert caught.value.field == name


def test_the_schema_allows_only_declared_parameters() -> None:
    schema = json_schema(Example)

    assert schema["additionalProperties"] is False
    assert schema["properties"]["cells"] == {
        "type": "integer",
        "description": "Cells along each side.",
        "default": 64,
        "minimum": 1,
        "maximum": 4096,
    }
    assert schema["properties"]["answers"]["enum"] == ["uniform", "exact"]
    assert [parameter.name for parameter in parameters(Example)] == ["cells", "answers", "smooth"]
