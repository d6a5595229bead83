"""The declaration of a public layer, which the API and the desk's form state alike.

A publisher declares what is "public", but the publisher also holds the private data. A density made
from the places in the rows would undo the noise of remapped points, and an outline drawn around the
rows would show where they end. The software cannot see where a publisher got a file, but it does
know two things: the order in which layers and uploads arrived, and which layers it made itself from
a published release. Statements tell readers these two facts, repeat the source that the publisher
names, and claim no more.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.core.validators import validate_slug
from django.utils import timezone
from pydantic import AfterValidator, Field

from dpgeo.blanks import trim
from dpgeo.core.declared import Day, Declared, Labels, Text, fact
from dpgeo.core.domain import LayerKind
from dpgeo.datasets.texts import public_text
from dpgeo.phrases import InvalidValue, listed, translatable

KINDS = {
    LayerKind.ZONES: translatable("Zones: polygons to count in"),
    LayerKind.PLACES: translatable("Places"),
    LayerKind.DENSITY: translatable("Density"),
}


def _read_name(name: str) -> str:
    try:
        validate_slug(trim(name))
    except ValidationError:
        raise InvalidValue("Use letters, digits, hyphens and underscores, like wards.") from None
    return name


def _read_kind(kind: str) -> str:
    if kind not in KINDS:
        raise InvalidValue(
            "{kind!r} is not a kind of layer; choose from {known}.",
            kind=kind[:40],
            known=listed(sorted(KINDS)),
        )
    return kind


def _read_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        usable = parts.scheme == "https" and parts.hostname and "." in parts.hostname
    except ValueError:
        usable = False
    if not usable or "@" in parts.netloc or any(sign.isspace() for sign in url):
        raise InvalidValue(
            "{url!r} is not an https address; write it like https://example.org/census.", url=url
        )
    return url


def _read_date(date: datetime.date) -> datetime.date:
    # The date may be one day later than the UTC date, because somewhere on Earth it already is.
    if date > timezone.now().date() + datetime.timedelta(days=1):
        raise InvalidValue("The date of the source lies in the future; correct it.")
    return date


class PublicSource(Declared):
    """A public source as the publisher states it."""

    name: Annotated[Text, public_text(200, required=True)] = Field(
        title=translatable("Public source"),
        description=translatable("What it is called, such as Census grid of 2021."),
    )
    url: Annotated[Text, public_text(500), AfterValidator(_read_url)] = Field(
        title=translatable("Address of the source"),
        description=translatable("Where anybody finds it, such as https://example.org/census."),
    )
    date: Annotated[Day, AfterValidator(_read_date)] = Field(
        title=translatable("Date of the source"), description=translatable("Such as 2026-01-31.")
    )


@dataclass(frozen=True, slots=True)
class ReleaseSource:
    """The published release from which the software itself made a layer."""

    release: str


Provenance = PublicSource | ReleaseSource


class NamedPlace(PublicSource):
    """A named place, and the public source of its outline."""

    place: Annotated[Text, public_text(200, required=True)] = Field(
        title=translatable("Name of the place"),
        description=translatable("Public. The place for which the area is exchanged."),
    )


class LayerDeclaration(Declared):
    """The declaration of a layer."""

    name: Annotated[Text, public_text(60, required=True), AfterValidator(_read_name)] = Field(
        title=translatable("Short name"),
        description=translatable("Its name in requests, such as wards: letters, digits, - and _."),
    )
    kind: Annotated[Text, AfterValidator(_read_kind), Labels(KINDS)] = Field(
        default=LayerKind.ZONES.value,
        title=translatable("Kind"),
        json_schema_extra={"enum": [*map(str, sorted(KINDS))]},
    )
    title: Annotated[Text, public_text(200)] = Field(
        default="",
        title=translatable("Title"),
        description=translatable("Public. For readers, such as Wards of 2026."),
    )
    file_layer: Annotated[Text, public_text(200)] = Field(
        default="",
        title=translatable("Layer of the GeoPackage"),
        description=translatable("Needed where it has several."),
    )
    file_crs: Annotated[Text, public_text(20)] = Field(
        default="",
        title=translatable("Coordinate system of the file"),
        description=translatable(
            "Empty: the one that the file states. Where it states none: its code, such as "
            "EPSG:3035."
        ),
    )
    public_source: PublicSource = fact(
        "The public source of the layer, which statements repeat. Once a file about the "
        "same people has been uploaded, a layer needs this or release.",
        None,
    )
    release: Annotated[Text, public_text(32)] = Field(
        default="",
        title=translatable("Or a published map to make the layer from"),
        description=translatable("Its id, which is the last part of its address."),
    )
    release_layer: Annotated[Text, public_text(100)] = Field(
        default="",
        title=translatable("Layer of that map"),
        description=translatable("Needed where the map has several."),
    )
    key_property: Annotated[Text, public_text(200)] = Field(
        default="",
        title=translatable("Column that holds the key"),
        description=translatable(
            "Empty: the feature's id, or a column named key, code, id or geoid. In a density: the "
            "number of people; empty: people, population, estimate, count or value."
        ),
    )
    name_property: Annotated[Text, public_text(200)] = Field(
        default="",
        title=translatable("Column that holds the name"),
        description=translatable("Empty: a column named name, title or label."),
    )
    levels: Annotated[Text, public_text(1000)] = Field(
        default="",
        title=translatable("Levels of places"),
        description=translatable(
            "Columns from the widest to the finest, such as country, city, "
            "street. Empty: all others, in their order. If a layer of zones is called city, "
            "say, each place must lie in the city it names."
        ),
    )
