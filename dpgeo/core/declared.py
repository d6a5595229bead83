"""Base class of facts that people and programs give, each declared once as a field of a model.

A field has a type, limits, a default, a label (`title`) and one sentence of help (`description`).
The API's parsing and schema, the desk's form, the commands' options and the stored row all follow
from these. Texts are parsed like JSON values, except that JSON has no numbers in quotation marks.
"""

from __future__ import annotations

import copy
import difflib
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from types import NoneType
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    create_model,
)
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from dpgeo.core.epsilon import format_epsilon, parse_epsilon
from dpgeo.core.errors import InvalidInput
from dpgeo.core.number_text import number_text
from dpgeo.core.window import parse_day
from dpgeo.phrases import Figure, InvalidValue, Phrase, listed, phrase_of

MAX_DIGITS = 40
"""Longest number that an error repeats, in characters."""

STRICT = {"strict": True}
"""Context of a validation of JSON, where a number is no text."""


def fact(
    description: str,
    default: Any = ...,
    *,
    title: str | None = None,
    schema: Mapping[str, Any] | None = None,
) -> Any:
    """Declare a field; one of a request body alone needs no label.

    With the default None, null is refused unless the field's type allows it. `schema` has members
    of its JSON Schema that a service checks, such as limits.
    """
    extra = dict(schema or {})
    return Field(default, title=title, description=description, json_schema_extra=extra)


def _is_strict(info: ValidationInfo) -> bool:
    return info.context == STRICT


def _read_whole(value: object, info: ValidationInfo) -> object:
    if isinstance(value, str) and not _is_strict(info):
        try:
            return int(number_text(value))
        except ValueError:
            raise InvalidValue(
                "{value!r} is not a whole number; write it like 10.", value=value
            ) from None
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidValue("Must be a whole number, without quotation marks.")
    return value


def _read_flag(value: object, info: ValidationInfo) -> object:
    if isinstance(value, str) and not _is_strict(info):
        value = {"true": True, "on": True, "false": False}.get(value.strip().lower(), value)
    if not isinstance(value, bool):
        raise InvalidValue("Must be true or false, without quotation marks.")
    return value


def _read_real(value: object, info: ValidationInfo) -> object:
    if isinstance(value, str) and not _is_strict(info):
        try:
            value = float(number_text(value))
        except ValueError:
            raise InvalidValue(
                "{value!r} is not a number; write it like 0.5.", value=value
            ) from None
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise InvalidValue("Must be a number, without quotation marks.")
    try:
        return float(value)
    except OverflowError:
        raise InvalidValue("Is too large.") from None


def read_text(value: object) -> object:
    """Return a text. Raises InvalidValue for any other value, or half of a surrogate pair."""
    if not isinstance(value, str):
        raise InvalidValue("Must be text, in quotation marks.")
    if any("\ud800" <= sign <= "\udfff" for sign in value):
        raise InvalidValue("Contains half of a surrogate pair; send whole characters.")
    return value


def _read_items(value: object) -> object:
    if not isinstance(value, list):
        raise InvalidValue("Must be a list, [...].")
    return value


def _read_members(value: object) -> object:
    if not isinstance(value, dict):
        raise InvalidValue("Must be an object, {...}.")
    return value


def _read_decimal(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int | float | Fraction):
        raise InvalidValue('Must be a number, such as "0.5".')
    return value


def _read_epsilon(value: Any) -> Fraction:
    number = _read_decimal(value)
    epsilon: Fraction = without_field(
        parse_epsilon, str(number) if isinstance(number, float) else number
    )
    return epsilon


def _read_day(value: object) -> date:
    day: date | None = without_field(parse_day, value)
    if day is None:
        raise InvalidValue("{value!r} is not a day; write it like 2026-01-31.", value="")
    return day


def without_field(read: Callable[[Any], Any], value: object) -> Any:
    """Return `read(value)`, with its errors as such of a value, whose field the model knows."""
    try:
        return read(value)
    except InvalidInput as refusal:
        raise InvalidValue("{problem}", problem=refusal.phrase) from None


WHOLE = BeforeValidator(_read_whole)
"""Reads whole numbers; it stands after the limits, in `Annotated[int, Field(ge=1), WHOLE]`."""

REAL = BeforeValidator(_read_real)
"""Reads numbers, like `WHOLE`."""

Real = Annotated[float, REAL]
Flag = Annotated[bool, BeforeValidator(_read_flag)]
Text = Annotated[str, BeforeValidator(read_text)]
Items = Annotated[list[Any], BeforeValidator(_read_items)]
Members = Annotated[dict[str, Any], BeforeValidator(_read_members)]
Anything = Any
Whole = Annotated[int, WHOLE]
Decimal = Annotated[
    str | int | float,
    PlainValidator(_read_decimal),
    WithJsonSchema({"type": ["string", "number"]}),
]
Epsilon = Annotated[
    Fraction,
    PlainValidator(_read_epsilon),
    PlainSerializer(format_epsilon, return_type=str),
    WithJsonSchema({"type": ["string", "number"]}),
]
Day = Annotated[date, BeforeValidator(_read_day)]


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of a field's choices, in their order."""

    of: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Typed:
    """How people type a list: what is between its items, a hint, and how an item is written."""

    separator: str
    hint: str
    write: Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class Lines:
    """The number of lines that forms show of a text."""

    rows: int


@dataclass(frozen=True, slots=True)
class Suggestions:
    """The name of the list from which a browser suggests values of a field."""

    name: str


class Declared(BaseModel):
    """Facts that somebody gives; a field that is not declared is an error.

    With a validation context of `STRICT`, texts are not read as numbers. `schema_facts` has members
    of the JSON Schemas of fields that only a room above the model's knows, such as their choices.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    schema_facts: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    @classmethod
    def attempt(
        cls, values: Mapping[str, Any], *, strict: bool = False
    ) -> tuple[Self | None, list[InvalidInput]]:
        """Return the facts, or None with an error for each field at fault, in their order.

        Unless `strict`, an empty text or None stands for an absent value.
        """
        if not strict:
            values = {name: each for name, each in values.items() if each not in ("", None)}
        try:
            return cls.model_validate(values, context=STRICT if strict else None), []
        except ValidationError as error:
            faults = error.errors(include_url=False)
            if not faults[0]["loc"]:  # Names that are no text have no place.
                odd = next(name for name in values if name not in cls.model_fields)
                return None, [_unknown_field(cls, odd, odd)]
            unknown_first = sorted(faults, key=lambda each: each["type"] != "extra_forbidden")
            return None, [_refusal(cls, each) for each in unknown_first]

    @classmethod
    def read(cls, values: Mapping[str, Any], *, strict: bool = False) -> Self:
        """Return the facts. Raises InvalidInput, which names the first field at fault."""
        facts, refusals = cls.attempt(values, strict=strict)
        if facts is None:
            raise refusals[0]
        return facts

    def facts(self) -> dict[str, Any]:
        """Return all facts by name, with defaults."""
        return {name: getattr(self, name) for name in type(self).model_fields}

    def given(self) -> dict[str, Any]:
        """Return the facts that were given, without defaults; facts within them as objects too."""
        return {
            name: each.given() if isinstance(each, Declared) else each
            for name, each in self
            if name in self.model_fields_set
        }

    @classmethod
    def changes(cls) -> type[Declared]:
        """Return a model of the same facts, of which any may be left out."""
        fields: dict[str, Any] = {}
        for name, field in cls.model_fields.items():
            optional = copy.copy(field)
            optional.default, optional.default_factory = None, None
            fields[name] = (field.annotation, optional)
        made: type[Declared] = create_model(f"{cls.__name__}Changes", __base__=Declared, **fields)
        return made

    def part(self, cls: type[D]) -> D:
        """Return those facts that `cls`, a base class, declares."""
        given = self.model_fields_set & set(cls.model_fields)
        return cls.model_construct(
            given, **{name: getattr(self, name) for name in cls.model_fields}
        )


D = typing.TypeVar("D", bound=Declared)


def kind_of_field(field: FieldInfo) -> type:
    """Return a field's type, without None."""
    kinds = [each for each in typing.get_args(field.annotation) if each is not NoneType]
    kind: Any = kinds[0] if field.annotation is not None and len(kinds) == 1 else field.annotation
    kind = typing.get_args(kind)[0] if typing.get_origin(kind) is Annotated else kind
    found: type = typing.get_origin(kind) or kind
    return found


def limits(field: FieldInfo) -> tuple[int, int] | None:
    """Return the inclusive limits of a field with whole numbers; None without both."""
    low, high = _limit(field, "ge"), _limit(field, "le")
    return None if low is None or high is None else (low, high)


def _limit(field: FieldInfo, name: str) -> Any:
    """Return the limit of a field that `annotated_types` calls `name`, such as "ge", or None."""
    inner = [each for kind in typing.get_args(field.annotation) for each in typing.get_args(kind)]
    outer = [field, *(each for each in inner if isinstance(each, FieldInfo))]
    facts = [each for one in outer for each in one.metadata]
    return next((getattr(each, name) for each in facts if hasattr(each, name)), None)


def labels(field: FieldInfo) -> Mapping[str, str]:
    """Return the label of each choice of a field; {} without choices."""
    found = hint_of(field, Labels)
    return found.of if found else {}


H = typing.TypeVar("H")


def hint_of(field: FieldInfo, kind: type[H]) -> H | None:
    """Return what is declared of a field for forms, of one kind; None if nothing is."""
    return next((each for each in field.metadata if isinstance(each, kind)), None)


def schema_of(cls: type[Declared]) -> dict[str, Any]:
    """Return a JSON Schema of the facts, without references and titles."""
    whole = cls.model_json_schema()
    shared = whole.get("$defs", {})
    schema: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            name: {**_plain_schema(each, shared), **cls.schema_facts.get(name, {})}
            for name, each in whole.get("properties", {}).items()
        },
    }
    return schema | ({"required": whole["required"]} if "required" in whole else {})


def _plain_schema(schema: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    plain = {name: each for name, each in schema.items() if name not in ("title", "$ref", "anyOf")}
    if "$ref" in schema:
        meant = shared[schema["$ref"].rpartition("/")[2]]
        plain = {name: meant[name] for name in ("type", "enum") if name in meant} | plain
        if "properties" in meant:
            plain |= {
                "additionalProperties": False,
                "properties": {
                    name: _plain_schema(each, shared) for name, each in meant["properties"].items()
                },
                "required": meant["required"],
            }
    if "anyOf" in schema:
        first, _ = (_plain_schema(each, shared) for each in schema["anyOf"])
        types = first["type"] if isinstance(first["type"], list) else [first["type"]]
        plain = first | {"type": [*types, "null"]} | plain
    if plain.get("default", "") is None:
        del plain["default"]
    return plain


def _refusal(cls: type[Declared], fault: ErrorDetails) -> InvalidInput:
    """Return the error for one fault that pydantic found; it names the field as it was given."""
    name = ".".join(map(str, fault["loc"]))
    if fault["type"] == "extra_forbidden":
        *outer, last = map(str, fault["loc"])
        return _unknown_field(_inner(cls, outer), last, name)
    if fault["type"] == "value_error":
        return InvalidInput(phrase_of(fault["ctx"]["error"]), field=name)
    field = _inner(cls, [str(each) for each in fault["loc"][:-1]]).model_fields.get(
        str(fault["loc"][-1])
    )
    return InvalidInput(_phrase(field, fault), field=name)


def _unknown_field(cls: type[Declared], name: str, path: str) -> InvalidInput:
    known = [field.alias or each for each, field in cls.model_fields.items()]
    return unknown("field", name[:100], known, none="send no body here.", field=path[:100])


def _inner(cls: type[Declared], names: list[str]) -> type[Declared]:
    for name in names:
        kind = kind_of_field(cls.model_fields[name])
        cls = kind if issubclass(kind, Declared) else cls
    return cls


def _phrase(field: FieldInfo | None, fault: ErrorDetails) -> Phrase:
    kind, value = fault["type"], fault["input"]
    if field is None:
        return Phrase("{problem}", problem=fault["msg"])
    if kind == "missing":
        return Phrase("`{name}` is required.", name=str(fault["loc"][-1]))
    if kind == "enum":
        choices = listed(each.value for each in kind_of_field(field))  # type: ignore[attr-defined]
        return Phrase(
            "{text!r} is not a choice; choose from {choices}.", text=str(value), choices=choices
        )
    if kind in ("model_type", "model_attributes_type"):
        return Phrase("Must be an object, {...}.")
    if kind_of_field(field) is float:
        return _real_phrase(field, fault)
    within = limits(field)
    if within is None:
        return Phrase("{problem}", problem=fault["msg"])
    low, high, number = (Figure(f"{each:,}"[:MAX_DIGITS]) for each in (*within, value))
    return Phrase(
        "Must be a whole number from {low} to {high}; {number} is not.",
        low=low,
        high=high,
        number=number,
    )


def _real_phrase(field: FieldInfo, fault: ErrorDetails) -> Phrase:
    above, low, high = (_limit(field, name) for name in ("gt", "ge", "le"))
    if high is None or (above is None and low is None):
        return Phrase("{problem}", problem=fault["msg"])
    if above is not None:
        return Phrase("Must be a number above {low:g} and at most {high:g}.", low=above, high=high)
    return Phrase("Must be a number at least {low:g} and at most {high:g}.", low=low, high=high)


def unknown(what: str, name: str, known: list[str], *, none: str, field: str) -> InvalidInput:
    """Return the error for a `name` that is not among the `known` names.

    `what` says whether it is the name of a parameter or of a field. `none` is the hint to give if
    `known` is empty.
    """
    if close := difflib.get_close_matches(name, known, n=1):
        hint = f"did you mean {close[0]!r}?"
    else:
        hint = f"choose from {', '.join(known)}." if known else none
    return InvalidInput(
        "There is no {what} {name!r}; {hint}", what=what, name=name, hint=hint, field=field
    )
