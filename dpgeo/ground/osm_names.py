"""Place names from an OpenStreetMap extract or, if there is none, from vector tiles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from dpgeo.ground.archives import layer_names
from dpgeo.ground.names import RANKS, Place
from dpgeo.ground.osm_file import read_layer

OTHER_NAMES = (
    *("name:en", "name:de", "name:fr", "int_name"),
    *("alt_name", "old_name", "short_name", "loc_name"),
)

FURTHER_NAME = re.compile(
    r'"(?:(?:alt_|old_|official_)?name:[a-z]{2,3}(?:[-_][^"]*)?|official_name)"'
    r'=>"((?:[^"\\]|\\.)*)"'
)
"""Pattern of a name in another language in the text of a feature's further tags (hstore)."""

OUTLINE_TOLERANCE = 2e-5
"""Largest distance in degrees (about 2 m) between an outline and its simplification."""

COUNTRY_LEVEL, COUNTY_LEVEL, MUNICIPALITY_LEVEL = 2, 6, 8


def extract_names(extract: Path) -> Iterator[Place]:
    """Yield the named places, streets and areas of an extract, areas with their outlines."""
    areas = read_layer(
        extract,
        "multipolygons",
        "name IS NOT NULL AND (boundary = 'administrative' OR leisure IN ('park', 'garden', "
        "'nature_reserve') OR \"natural\" = 'water')",
    )
    kinds = _area_kinds(areas)
    around = _Around(areas, kinds)
    for row, kind in zip(areas.to_dict("records"), kinds, strict=True):
        shape = row["geometry"]
        yield Place(
            name=row["name"],
            kind=kind,
            shape=shape,
            others=_others(row),
            within="" if kind in {"country", "county", "municipality"} else around.name(shape),
            outline=shapely.make_valid(shapely.simplify(shape, OUTLINE_TOLERANCE)),
        )
    yield from _points(extract, around)
    yield from _lines(extract, around)


def tile_names(path: Path, metadata: Any) -> Iterator[Place]:
    """Yield the named places and streets of an archive's most detailed tiles, without outlines."""
    import pyogrio

    there = layer_names(metadata)
    for layer in ("place_labels", "public_transport", "street_labels", "water_polygons_labels"):
        if layer not in there:
            continue
        labels = pyogrio.read_dataframe(path, layer=layer).to_crs(4326)
        labels = labels[labels["name"].notna() & ~labels.geometry.is_empty]
        streets = layer == "street_labels"
        if not streets:
            labels["kind"] = "water" if "water" in layer else labels["kind"]
            labels = labels[labels["kind"].isin(RANKS)]
        labels["near"] = 0 if not streets else _tenths(labels.geometry)
        columns = ["name", "near"] if streets else ["name", "kind", "near"]
        for _, rows in labels.groupby(columns):
            first = rows.iloc[0].to_dict()
            yield Place(
                name=first["name"],
                kind="street" if streets else first["kind"],
                shape=shapely.union_all(rows.geometry.to_numpy()),
                others=[
                    name for each in ("name_de", "name_en") if (name := _text(first.get(each)))
                ],
                population=float(first.get("population") or 0),
            )


class _Around:
    """Municipalities of an extract, for finding the one that contains a place."""

    def __init__(self, areas: Any, kinds: list[str]) -> None:
        chosen = np.asarray(kinds) == "municipality"
        self._names = areas["name"].to_numpy()[chosen]
        self._tree = shapely.STRtree(areas.geometry.to_numpy()[chosen])

    def name(self, shape: shapely.Geometry) -> str:
        """Return the municipality that contains the middle of a shape, or "" if none is known."""
        hits = self._tree.query(shape.representative_point(), predicate="within")
        return str(self._names[hits[0]]) if len(hits) else ""


def _area_kinds(areas: Any) -> list[str]:
    kinds = []
    for row in areas[["admin_level", "natural"]].to_dict("records"):
        level = int(row["admin_level"]) if _text(row["admin_level"]).isdecimal() else None
        if level is None:
            kinds.append("water" if row["natural"] == "water" else "park")
        elif level <= COUNTRY_LEVEL:
            kinds.append("country")
        else:
            municipal = "municipality" if level <= MUNICIPALITY_LEVEL else "district"
            kinds.append("county" if level <= COUNTY_LEVEL else municipal)
    return kinds


def _points(extract: Path, around: _Around) -> Iterator[Place]:
    points = read_layer(
        extract,
        "points",
        "name IS NOT NULL AND (place IS NOT NULL OR railway IN ('station', 'halt', 'tram_stop') "
        "OR \"natural\" = 'peak')",
    )
    for row in points.to_dict("records"):
        kind = _text(row["place"]) or _text(row["railway"]) or _text(row["natural"])
        population = _text(row["population"])
        yield Place(
            name=row["name"],
            kind="capital" if row["capital"] == "yes" else kind,
            shape=row["geometry"],
            others=_others(row),
            within=around.name(row["geometry"]),
            population=float(population) if population.isdecimal() else 0.0,
        )


def _lines(extract: Path, around: _Around) -> Iterator[Place]:
    """Yield each street and each river as one `Place`.

    A street's parts in different municipalities are different places.
    """
    lines = read_layer(
        extract, "lines", "name IS NOT NULL AND (highway IS NOT NULL OR waterway = 'river')"
    )
    river = lines["highway"].isna()
    lines["kind"] = np.where(river, "river", "street")
    lines["within"] = [
        "" if flows else around.name(line)
        for line, flows in zip(lines.geometry, river, strict=True)
    ]
    for (name, kind, within), part in lines.groupby(["name", "kind", "within"]):
        shape = shapely.multilinestrings(shapely.get_parts(part.geometry.to_numpy()))
        yield Place(name=name, kind=kind, shape=shape, within=within)


def _text(value: object) -> str:
    """Return `value` if it is text, or "" for the placeholder that GeoPandas uses for none."""
    return value if isinstance(value, str) else ""


def _others(row: dict[str, Any]) -> list[str]:
    """Return a feature's names in other languages, and its old and short names."""
    given = [_text(row.get(each)) for each in OTHER_NAMES]
    further = FURTHER_NAME.findall(_text(row.get("other_tags")))
    given += [re.sub(r"\\(.)", r"\1", text) for text in further]
    return [name.strip() for text in given for name in text.split(";") if name.strip()]


def _tenths(shapes: Any) -> Any:
    """Return for each shape a number that stands for the 0.1-degree square in which it lies.

    Streets of the same name are taken for one street only if they have the same number.
    """
    middle = shapes.representative_point()
    return np.floor(middle.x * 10) * 10_000 + np.floor(middle.y * 10)
