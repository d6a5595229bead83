"""Public mechanism parameters, from which forms, schemas and docs are generated."""

from __future__ import annotations

import dataclasses
import difflib
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from dpgeo.core.domain import LayerKind, no_such_layer
from dpgeo.core.errors import InvalidInput
from dpgeo.core.number_text import number_text
from dpgeo.phrases import Phrase, listed

P = TypeVar("P")


@dataclasses.dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a mechanism; its `kind` is int, bool or str.

    A parameter of kind str has one of five kinds of value. With `layer`, the value is the name of a
    declared layer of that kind, which may be empty if `optional`. With `measure`, it is the column
    of a declared measure, or empty for the first one. With `category`, it is the column of a
    declared category, or empty: for no category if `optional`, else for the first one. Otherwise,
    with `read`, it is a text that `read` accepts, described by the regular expression `pattern`.
    Otherwise it is one of `choices`. `low` and `high` are the inclusive bounds of an int; `beyond`
    is advice for users who want a value above `high`.
    """

    name: str
    kind: type
    default: int | bool | str
    description: str
    low: int | None
    high: int | None
    choices: tuple[str, ...]
    beyond: str
    layer: LayerKind | None
    measure: bool
    category: bool
    optional: bool
    read: Callable[[str], str] | None
    pattern: str


def param(
    default: int | bool | str,
    description: str,
    *,
    low: int | None = None,
    high: int | None = None,
    choices: Sequence[str] = (),
    beyond: str = "",
    layer: LayerKind | None = None,
    measure: bool = False,
    category: bool = False,
    optional: bool = False,
    read: Callable[[str], str] | None = None,
    pattern: str = "",
) -> Any:
    """Declare a field of a parameter dataclass; see `Parameter` for the arguments.

    If `layer` is set, an empty name means the dataset's only layer of that kind, or no layer if
    `optional`. `read` normalises a text, and raises InvalidInput if the text is invalid.
    """
    metadata = {
        "description": description,
        "low": low,
        "high": high,
        "choices": tuple(choices),
        "beyond": beyond,
        "layer": layer,
        "measure": measure,
        "category": category,
        "optional": optional,
        "read": read,
        "pattern": pattern,
    }
    return dataclasses.field(default=default, metadata=metadata)


def parameters(cls: type[Any]) -> list[Parameter]:
    """Return the parameters declared by the `param` fields of a dataclass, in their order."""
    hints = typing.get_type_hints(cls)
    return [
        Parameter(
            name=field.name,
            kind=hints[field.name],
            default=cast("int | bool | str", field.default),
            description=field.metadata["description"],
            low=field.metadata["low"],
            high=field.metadata["high"],
            choices=field.metadata["choices"],
            beyond=field.metadata["beyond"],
            layer=field.metadata["layer"],
            measure=field.metadata["measure"],
            category=field.metadata["category"],
            optional=field.metadata["optional"],
            read=field.metadata["read"],
            pattern=field.metadata["pattern"],
        )
        for field in dataclasses.fields(cls)
    ]


def parse_parameters(cls: type[P], values: Mapping[str, object]) -> P:
    """Parse parameters from JSON or form strings; missing parameters get their defaults.

    Raises InvalidInput, with the parameter's name as its `field`, if a parameter is unknown, of the
    wrong type, or out of bounds.
    """
    known = {parameter.name: parameter for parameter in parameters(cls)}
    parsed: dict[str, object] = {}
    for name, value in values.items():
        if name not in known:
            raise InvalidInput(_unknown(name, list(known)), field=name)
        parsed[name] = _read(known[name], value)
    return cls(**parsed)


def layers_named(params: Any) -> list[str]:
    """Return the names of the declared layers that parameters refer to."""
    names = (getattr(params, each.name) for each in parameters(type(params)) if each.layer)
    return [name for name in names if name]


def settle_layers(params: P, known: Mapping[str, LayerKind]) -> P:
    """Fill in each empty layer name if the dataset has only one layer of its kind.

    `known` maps the names of the dataset's declared layers to their kinds. An empty optional name
    stays empty. Raises InvalidInput, which lists the layers of the right kind, for an undeclared
    name, or for an empty name if the dataset has no such layer or several.
    """
    settled: dict[str, str] = {}
    for parameter in parameters(type(params)):
        if parameter.layer is None:
            continue
        name = getattr(params, parameter.name)
        names = [each for each, kind in known.items() if kind == parameter.layer]
        if not name and (parameter.optional or len(names) == 1):
            settled[parameter.name] = "" if parameter.optional else names[0]
        elif name not in names:
            raise InvalidInput(no_such_layer(name, names), field=parameter.name)
    return dataclasses.replace(cast(Any, params), **settled) if settled else params


def json_schema(cls: type[Any]) -> dict[str, Any]:
    """Return a JSON Schema (draft 2020-12) for the parameters, which allows no others.

    Where the value is the name of a declared layer, `x-layer` is the layer's kind; where it is the
    column of a declared measure or category, `x-measure` or `x-category` is true.
    """
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {parameter.name: _property(parameter) for parameter in parameters(cls)},
    }


def _unknown(name: str, known: list[str]) -> Phrase:
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return Phrase(
            "There is no parameter {name!r}; did you mean {close!r}?", name=name, close=close[0]
        )
    return Phrase(
        "There is no parameter {name!r}; choose from {known}.", name=name, known=listed(known)
    )


def _read(parameter: Parameter, value: object) -> int | bool | str:
    if parameter.kind is bool:
        return _read_bool(parameter, value)
    if parameter.kind is int:
        return _read_int(parameter, value)
    text = str(value)
    if parameter.layer:
        if not isinstance(value, str):
            raise InvalidInput("Must be the name of a declared layer.", field=parameter.name)
        return text.strip()
    if parameter.measure or parameter.category:
        if not isinstance(value, str):
            raise InvalidInput("Must be the name of a declared column.", field=parameter.name)
        return text.strip()
    if parameter.read:
        return _read_text(parameter, parameter.read, text)
    if text not in parameter.choices:
        raise InvalidInput(
            "{text!r} is not a choice; choose from {choices}.",
            text=text,
            choices=listed(parameter.choices),
            field=parameter.name,
        )
    return text


def _read_text(parameter: Parameter, read: Callable[[str], str], text: str) -> str:
    try:
        return read(text)
    except InvalidInput as error:
        raise InvalidInput(error.phrase, field=parameter.name) from None


def _read_bool(parameter: Parameter, value: object) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text not in {"true", "false"}:
        raise InvalidInput("Must be true or false.", field=parameter.name)
    return text == "true"


def _read_int(parameter: Parameter, value: object) -> int:
    try:
        number = int(value) if isinstance(value, int) else int(number_text(value))
        if isinstance(value, bool):
            raise ValueError
    except ValueError:
        raise InvalidInput(
            "{value} is not a whole number; write it like {default}.",
            value=repr(value),
            default=parameter.default,
            field=parameter.name,
        ) from None
    low, high = parameter.low, parameter.high
    if (low is not None and number < low) or (high is not None and number > high):
        raise _out_of_bounds(parameter, number)
    return number


def _out_of_bounds(parameter: Parameter, number: int) -> InvalidInput:
    low, high = str(parameter.low), str(parameter.high)
    bounds = Phrase(
        "Must be a whole number from {low} to {high}; {number} is not.",
        low=low,
        high=high,
        number=number,
    )
    if not parameter.beyond or parameter.high is None or number <= parameter.high:
        return InvalidInput(bounds, field=parameter.name)
    return InvalidInput(
        "{problem} {remedy}",
        problem=bounds,
        remedy=Phrase(parameter.beyond),
        field=parameter.name,
    )


def _property(parameter: Parameter) -> dict[str, Any]:
    names = {int: "integer", bool: "boolean", str: "string"}
    schema: dict[str, Any] = {
        "type": names[parameter.kind],
        "description": parameter.description,
        "default": parameter.default,
    }
    if parameter.low is not None:
        schema["minimum"] = parameter.low
    if parameter.high is not None:
        schema["maximum"] = parameter.high
    if parameter.choices:
        schema["enum"] = list(parameter.choices)
    if parameter.pattern:
        schema["pattern"] = parameter.pattern
    if parameter.layer:
        schema["x-layer"] = parameter.layer.value
    if parameter.measure:
        schema["x-measure"] = True
    if parameter.category:
        schema["x-category"] = True
    return schema
