"""The declaration of a dataset: its fields, and the rules for more than one field.

Forms, the API, the commands and the stored row state a declaration from these fields alone. All of
it is public, and none of it is taken from the data.
"""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from functools import cache, cached_property, partial
from typing import Annotated, Any, NamedTuple

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from pydantic import (
    AfterValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
)

from dpgeo.blanks import trim
from dpgeo.core.declared import (
    Day,
    Declared,
    Flag,
    Labels,
    Lines,
    Suggestions,
    Text,
    Typed,
    without_field,
)
from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.core.nouns import NOUNS
from dpgeo.core.themes import THEMES
from dpgeo.datasets.declared_columns import Attributes, Categories, Measures
from dpgeo.datasets.texts import clean_text, public_text
from dpgeo.phrases import InvalidValue, Phrase, phrase_of, translatable
from dpgeo.spatial.area import StudyArea

MAX_CORNERS = 20_000
"""Maximum number of vertices of a study area; more would slow down every public page."""

MAX_KEYWORDS, MAX_KEYWORD = 20, 50

FROZEN = (
    *("unit", "study_area", "time_zone", "public_attributes", "measures", "categories"),
    *("new_files", "covers_from", "covers_until"),
)
"""Fields that the first confirmed upload fixes: releases depend on them, and days declared after
looking at the rows could be chosen to fit them.
"""


STATED = ("licence", "attribution", "row_noun", "time_zone")
"""Fields that every file of a release repeats."""


class NewFiles(StrEnum):
    """Whether a further file replaces a dataset's data or is added to them."""

    REPLACE = "replace"
    APPEND = "append"


def _read_texts(values: object) -> list[str]:
    if not isinstance(values, list | tuple) or not all(isinstance(each, str) for each in values):
        raise InvalidValue("Must be a list of texts.")
    return list(values)


def _read_keywords(words: object) -> tuple[str, ...]:
    read = partial(clean_text, field="", longest=MAX_KEYWORD)
    each = [without_field(read, word) for word in _read_texts(words)]
    unique = list({word.casefold(): word for word in reversed(each) if word}.values())[::-1]
    if len(unique) > MAX_KEYWORDS:
        raise InvalidValue(
            "Has {count} keywords; keep the {most} that matter most.",
            count=len(unique),
            most=MAX_KEYWORDS,
        )
    return tuple(unique)


def _read_themes(codes: object) -> tuple[str, ...]:
    chosen = {code.strip() for code in _read_texts(codes)}
    for code in sorted(chosen - set(THEMES)):
        raise InvalidValue(
            "{code!r} is not a theme; choose from {known}.", code=code, known=", ".join(THEMES)
        )
    return tuple(code for code in THEMES if code in chosen)


def _read_contact(address: str) -> str:
    try:
        if address:
            validate_email(address)
    except ValidationError:
        raise InvalidValue("{text!r} is not an e-mail address.", text=address) from None
    return address


@cache
def time_zones() -> frozenset[str]:
    """Return the names of the IANA time zones that a dataset can have."""
    # Python may also list "localtime", the machine's own zone, which DuckDB does not know.
    return frozenset(zoneinfo.available_timezones() - {"localtime"})


def _read_time_zone(name: str) -> str:
    if trim(name) not in time_zones():
        raise InvalidValue(
            "{text!r} is not a time zone; write it like Europe/Berlin or UTC.", text=name
        )
    return trim(name)


def _read_row_noun(noun: str) -> str:
    if noun and noun not in NOUNS:
        raise InvalidValue(
            "{text!r} is not among the words for rows; choose one of these, or none: {words}.",
            text=noun,
            words=", ".join(NOUNS),
        )
    return noun


def read_area(geometry: object) -> dict[str, Any]:
    """Return a study area as a GeoJSON geometry.

    A Feature is accepted too, and so is a collection of one. Raises InvalidValue.
    """
    if isinstance(geometry, Mapping) and geometry.get("type") == "FeatureCollection":
        features = geometry.get("features")
        if not isinstance(features, list) or len(features) != 1:
            raise InvalidValue("A collection must hold exactly one feature: the outline.")
        geometry = features[0]
    if not isinstance(geometry, Mapping):
        raise InvalidValue("Must be a GeoJSON Polygon or MultiPolygon with longitude first.")
    try:
        area = StudyArea.from_geojson(geometry).to_geojson()
    except (ValueError, TypeError, AttributeError) as error:
        plain = Phrase("Must be a GeoJSON geometry.")
        problem = phrase_of(error) if isinstance(error, ValueError) else plain
        raise InvalidValue("{problem}", problem=problem) from None
    corners = _count_corners(area["coordinates"])
    if corners > MAX_CORNERS:
        raise InvalidValue(
            "Has {corners:,} corners; simplify it to at most {most:,}.",
            corners=corners,
            most=MAX_CORNERS,
        )
    return area


def _count_corners(coordinates: Any) -> int:
    if coordinates and isinstance(coordinates[0], (int, float)):
        return 1
    return sum(_count_corners(part) for part in coordinates)


TEXTS = WithJsonSchema({"type": "array", "items": {"type": "string"}, "maxItems": MAX_KEYWORDS})


class Declaration(Declared):
    """What the owner of a dataset declares about it."""

    title: Annotated[Text, public_text(200, required=True)] = Field(
        title=translatable("Title"),
        description=translatable("Public. Say what was counted, where and when."),
    )
    description: Annotated[Text, public_text(20_000), Lines(3)] = Field(
        default="",
        title=translatable("Description"),
        description=translatable("Public. How the data came about and what a reader should know."),
    )
    licence: Annotated[Text, public_text(100, required=True), Suggestions("licences")] = Field(
        title=translatable("Licence"),
        description=translatable("What others may do with the published maps."),
    )
    attribution: Annotated[Text, public_text(300)] = Field(
        default="",
        title=translatable("Attribution"),
        description=translatable("The words others should use to name you."),
    )
    contact: Annotated[Text, public_text(254), AfterValidator(_read_contact)] = Field(
        default="",
        title=translatable("Questions go to"),
        description=translatable(
            "An e-mail address, public. If it is empty, your organisation's is given."
        ),
    )
    keywords: Annotated[
        tuple[str, ...],
        PlainValidator(_read_keywords),
        PlainSerializer(list),
        TEXTS,
        Typed(",", "", str),
    ] = Field(
        default=(),
        title=translatable("Keywords"),
        description=translatable("Public. The words people search for, separated by commas."),
    )
    themes: Annotated[
        tuple[str, ...],
        PlainValidator(_read_themes),
        PlainSerializer(list),
        WithJsonSchema({"type": "array", "items": {"type": "string", "enum": [*THEMES]}}),
        Labels(THEMES),
    ] = Field(
        default=(),
        title=translatable("Themes"),
        description=translatable("Public. The themes under which data portals list it."),
    )
    covers_from: Day | None = Field(
        default=None,
        title=translatable("Covers the time from"),
        description=translatable("Public. When collecting began, not when the first row was made."),
    )
    covers_until: Day | None = Field(
        default=None,
        title=translatable("until"),
        description=translatable("Empty while it goes on."),
    )
    unit: Annotated[
        Unit,
        Labels(
            {
                Unit.PERSON: translatable(
                    "One person, with all their rows. The file has a column that names the person."
                ),
                Unit.RECORD: translatable(
                    "One row. Choose this only where nobody has two rows, or no column says whose."
                ),
            }
        ),
    ] = Field(
        title=translatable("Who is protected"),
        description=translatable("Whose presence is hidden. Fixed by the first confirmed file."),
    )
    row_noun: Annotated[
        Text,
        public_text(20),
        AfterValidator(_read_row_noun),
        Labels(
            {"": translatable("no word of its own")}
            | {name: noun.one for name, noun in NOUNS.items()}
        ),
    ] = Field(
        default="",
        title=translatable("What is one row?"),
        description=translatable("The word that maps use for what they count."),
        json_schema_extra={"enum": ["", *NOUNS]},
    )
    new_files: Annotated[
        NewFiles,
        Labels(
            {
                NewFiles.REPLACE: translatable("It replaces the data: each file is whole"),
                NewFiles.APPEND: translatable("It is added to the data: each file has new rows"),
            }
        ),
    ] = Field(
        default=NewFiles.REPLACE,
        title=translatable("When another file is uploaded"),
        description=translatable("Public. Fixed when the first file is confirmed."),
    )
    study_area: Annotated[
        dict[str, Any],
        PlainValidator(read_area),
        WithJsonSchema({"type": "object", "additionalProperties": True}),
    ] = Field(
        title=translatable("Study area"),
        description=translatable(
            "A Polygon or MultiPolygon, longitude first, chosen from a map and not from the data."
        ),
    )
    time_zone: Annotated[Text, AfterValidator(_read_time_zone), Suggestions("time-zones")] = Field(
        default="UTC",
        title=translatable("Time zone"),
        description=translatable(
            "For times in the file that name no zone of their own, such as Europe/Berlin."
        ),
    )
    public_attributes: Attributes = Field(
        default=(),
        title=translatable("Columns that anybody may know"),
        description=translatable(
            "A map of moved points can publish them with every point, and nothing protects them "
            "there. So name a column only if anybody may know its value for every single report, "
            "and if it depends neither on where the report was made nor on who made it, such as "
            "the version of an app. Never name a kind of place, a speed, or anybody's name or "
            "number. A value that is not listed here becomes other."
        ),
    )
    measures: Measures = Field(
        default=(),
        title=translatable("Columns to average"),
        description=translatable(
            "Values beyond a limit count as the limit; narrow limits give exact averages. Limits "
            "are public, so choose what is possible or usual anywhere, without looking at your "
            "rows: nothing here is taken from them."
        ),
    )
    categories: Categories = Field(
        default=(),
        title=translatable("Columns to divide maps by"),
        description=translatable(
            "Every value that is not listed counts as other. The list is public, so type what is "
            "usual anywhere, without looking at your rows; which value a row has stays private."
        ),
    )
    keep_raw: Flag = Field(
        default=False,
        title=translatable("Keep uploaded files for some days after they are read"),
        description=translatable(
            "Maps don't need them. Once a person was erased, none is kept. Files kept so far "
            "stay for as long as whoever runs this site has set."
        ),
    )

    @cached_property
    def area(self) -> StudyArea:
        """The study area as geometry."""
        return StudyArea.from_geojson(self.study_area)


class Rule(NamedTuple):
    """A field is refused with a message if `broken` holds for the declaration."""

    field: str
    broken: Callable[[Declaration], object]
    message: str


RULES = (
    Rule(
        "covers_until",
        lambda declared: (
            declared.covers_from
            and declared.covers_until
            and declared.covers_until < declared.covers_from
        ),
        translatable("Lies before the first day; swap them."),
    ),
    # The last day would be fixed with the first file, and wrong from the second on.
    Rule(
        "covers_until",
        lambda declared: declared.new_files is NewFiles.APPEND and declared.covers_until,
        translatable(
            "Further files are added to these data, so they have no last day; leave it empty."
        ),
    ),
)
"""The rules for more than one field."""


def broken_rules(declared: Declaration) -> Iterator[InvalidInput]:
    """Yield an error for each rule that a declaration breaks."""
    for rule in RULES:
        if rule.broken(declared):
            yield InvalidInput(rule.message, field=rule.field)


def judge(facts: Mapping[str, Any]) -> tuple[Declaration | None, list[InvalidInput]]:
    """Return the declaration, and an error for each field at fault."""
    declared, refusals = Declaration.attempt(facts)
    return declared, refusals if declared is None else list(broken_rules(declared))


def read_declaration(facts: Mapping[str, Any]) -> Declaration:
    """Return the declaration. Raises InvalidInput, which names the first field at fault."""
    declared, refusals = judge(facts)
    if declared is None or refusals:
        raise refusals[0]
    return declared
