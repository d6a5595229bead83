"""Whether a change of the code changes any figure: releases with fixed noise, written and compared.

    python -m tests.same_releases write OLD        # before the change
    python -m tests.same_releases write NEW        # after it
    python -m tests.same_releases compare OLD NEW

Ten releases of each mechanism are drawn from an invented city. Of each, all files are written, and
as JSON what its map, pages and range answers are made of. Files that differ are compared by value.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Iterator
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import shapely

RELEASES = 10
TABLES = {".csv", ".geojson", ".gpkg", ".parquet", ".fgb"}


def write(folder: Path) -> None:
    """Write the releases of all mechanisms into a folder for each of them."""
    import django

    django.setup()
    from dpgeo.artefacts.files import build_files
    from dpgeo.core.errors import DpgeoError
    from tests.conformance.cases import RUNS

    runs: dict[str, list[Any]] = {}
    for each in RUNS:
        mechanism: Any = each.values[0]
        params = each.values[1]
        runs.setdefault(mechanism.key, []).append((mechanism, params))
    for key, pairs in runs.items():
        for number in range(RELEASES):
            mechanism, params = pairs[number % len(pairs)]
            own = folder / f"{key}-{number}"
            own.mkdir(parents=True)
            try:
                released = draw(mechanism, params, number)
            except DpgeoError as error:
                (own / "refused.json").write_text(json.dumps(str(error)))
                continue
            build_files(released, own)
            facts = json.dumps(plain(dict(facts_of(released))), indent=1, sort_keys=True)
            (own / "facts.json").write_text(facts)


def draw(mechanism: Any, params: Any, seed: int) -> Any:
    """Return a release with the noise of a seed."""
    from dpgeo.privacy.mechanism import run
    from tests.conformance.cases import LAYER, city
    from tests.randomness import SeededEntropy

    about = {"title": f"Map {seed}", "dataset": "Walks", "public_layers": json.dumps([LAYER])}
    return run(mechanism, city(), params, Fraction(1 + seed, 4), SeededEntropy(seed), about)


def facts_of(released: Any) -> Iterator[tuple[str, Any]]:
    """Yield what map, pages and answers show, by name."""
    from dpgeo.core.errors import DpgeoError
    from dpgeo.pages.release_summary import summarise
    from dpgeo.postprocess.layers import layers
    from dpgeo.postprocess.ranges import Ranges

    yield "layers", layers(released)
    yield "summary", summarise(released)
    for west, north in ((0.0, 0.05), (0.02, 0.06), (0.03, 0.1)):
        box = shapely.box(west, 0.01, west + 0.05, north)
        try:
            yield f"answer {west}", Ranges(released).answer([box])
        except DpgeoError as error:
            yield f"answer {west}", str(error)


def plain(value: Any) -> Any:
    """Return a value as JSON: dataclasses and arrays as lists, floats with 12 digits."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [each.name for each in dataclasses.fields(value)]
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, np.ndarray):
        if value.dtype == object and value.size and isinstance(value.flat[0], shapely.Geometry):
            return [shape.wkt for shape in value.flat]
        return [list(value.shape), str(value.dtype.kind), *map(plain, value.ravel().tolist())]
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    if isinstance(value, float):
        return float(f"{value:.12g}") if np.isfinite(value) else str(value)
    if isinstance(value, Enum):
        return value.value
    return value if isinstance(value, str | int | bool | None) else str(value)


def compare(old: Path, new: Path) -> int:
    """Print each file that differs, and where; return their number."""
    names = {
        str(path.relative_to(folder))
        for folder in (old, new)
        for path in folder.rglob("*")
        if path.is_file()
    }
    differing = 0
    for name in sorted(names):
        one, other = old / name, new / name
        if not one.exists() or not other.exists():
            difference = "only in the old folder" if one.exists() else "only in the new folder"
        elif one.read_bytes() == other.read_bytes():
            continue
        else:
            difference = difference_of(one, other)
        differing += bool(difference)
        if difference:
            sys.stdout.write(f"{name}: {difference}\n")
    sys.stdout.write(f"{differing} of {len(names)} files differ.\n")
    return differing


def difference_of(one: Path, other: Path) -> str:
    """Return in words where two files differ; "" if only their bytes do."""
    if one.suffix == ".json" and one.name != "facts.geojson":
        return _different_member(json.loads(one.read_text()), json.loads(other.read_text()))
    if one.suffix in TABLES:
        import geopandas

        tables = [geopandas.read_file(path) for path in (one, other)]
        columns = [list(table.columns) for table in tables]
        if columns[0] != columns[1]:
            return f"columns {columns[0]} and {columns[1]}"
        changed = [name for name in columns[0] if not tables[0][name].equals(tables[1][name])]
        return f"values of {changed}" if changed else ""
    return "bytes"


def _different_member(one: Any, other: Any, path: str = "") -> str:
    if type(one) is not type(other):
        return f"{path}: {str(one)[:60]} and {str(other)[:60]}"
    if isinstance(one, dict):
        if one.keys() != other.keys():
            return f"{path}: members {sorted(one.keys() ^ other.keys())}"
        found = (_different_member(one[name], other[name], f"{path}/{name}") for name in one)
        return next(filter(None, found), "")
    if isinstance(one, list):
        if len(one) != len(other):
            return f"{path}: {len(one)} and {len(other)} items"
        pairs = enumerate(zip(one, other, strict=True))
        found = (_different_member(*pair, f"{path}/{number}") for number, pair in pairs)
        return next(filter(None, found), "")
    return "" if one == other else f"{path}: {str(one)[:60]} and {str(other)[:60]}"


def main() -> int:
    """Run a subcommand; return 1 if releases differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=["write", "compare"])
    parser.add_argument("folders", type=Path, nargs="+")
    options = parser.parse_args()
    if options.task == "write":
        write(*options.folders)
        return 0
    return int(compare(*options.folders) > 0)


if __name__ == "__main__":
    sys.exit(main())
