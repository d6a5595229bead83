"""Rehearsal of a release: a run of the requested mechanism on invented people.

The mechanism draws fresh noise, as for a real release. No private data are read: the rows are
invented in the study area from public facts, stored in the canonical format of uploads, and then
bounded, counted and measured like real rows. So a publisher can see, before any budget is spent,
what a mechanism's map looks like for a given number of people. Choices made after looking at such a
map do not depend on the uploaded file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpgeo.artefacts import geojson, map_array
from dpgeo.core.domain import Domain
from dpgeo.core.guarantees import Unit
from dpgeo.core.parameters import layers_named
from dpgeo.core.released import Released
from dpgeo.datasets.layers import domain_of
from dpgeo.datasets.models import Dataset
from dpgeo.datasets.preview_slots import preview_slot
from dpgeo.datasets.storage import work_folder
from dpgeo.engine.canonical_file import SALT_BYTES
from dpgeo.engine.duckdb_view import DuckDBView
from dpgeo.postprocess.layers import ShapeLayer, layers
from dpgeo.postprocess.opening import Opening, opening_view
from dpgeo.privacy.entropy import SystemEntropy
from dpgeo.privacy.mechanism import run
from dpgeo.releases.requests import PricedRequest
from dpgeo.spatial.invented_people import invent_people

INVENTED_PEOPLE = 50_000
"""Number of invented people if the publisher has not estimated how many there are."""

MAX_INVENTED_PEOPLE = 100_000

MEMORY_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """A map of invented people: the contents of its files by name, and its initial view.

    `looks` maps the name of each layer to the name of the renderer that draws it.
    """

    files: Mapping[str, bytes]
    opening: Opening
    looks: Mapping[str, str]


def rehearse(dataset: Dataset, request: PricedRequest, people: int) -> Rehearsed:
    """Run a request's mechanism on invented people and return the map.

    At most MAX_INVENTED_PEOPLE people are invented. Raises InvalidInput if no release can be made
    with the request, or Conflict if this machine is too busy.
    """
    with preview_slot(), work_folder() as folder:
        path = folder / "invented.parquet"
        domain = domain_of(dataset, layers_named(request.params))
        _write(domain, Unit(dataset.unit), min(people, MAX_INVENTED_PEOPLE), path)
        view = DuckDBView(
            path,
            domain=domain,
            unit=Unit(dataset.unit),
            counting=request.counting,
            bound=request.bound,
            salt=bytes(SALT_BYTES),
            folder=folder,
            memory_bytes=MEMORY_BYTES,
            threads=1,
        )
        about: Mapping[str, str] = {"title": dataset.title}
        released = run(
            request.definition,
            view,
            request.params,
            request.amount,
            SystemEntropy(),
            about,
            request.bounding,
            request.totals_plan,
            delta=request.delta,
            bound_percent=request.choose_bound,
        )
        return _drawn(released, folder)


def _drawn(released: Released, folder: Path) -> Rehearsed:
    """Return the map of a release drawn in a rehearsal; its files are first written to `folder`.

    The files are the map array, and a GeoJSON file for each layer of shapes.
    """
    shown = layers(released)
    map_array.write(released, shown, folder / map_array.NAME)
    names = [map_array.NAME]
    for layer in shown:
        if isinstance(layer, ShapeLayer):
            names.append(f"{layer.name}{geojson.FORMAT.suffix}")
            geojson.FORMAT.write(released, layer, folder / names[-1])
    files = {name: (folder / name).read_bytes() for name in names}
    looks = {layer.name: layer.features.look for layer in shown}
    return Rehearsed(files, opening_view(shown), looks)


def _write(domain: Domain, unit: Unit, people: int, path: Path) -> None:
    """Write the sightings of invented people to `path` as a canonical file.

    `ingest.canonical` defines the format. The values of measures rise from west to east and fall
    again.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from dpgeo.ingest.canonical import canonical_schema

    invented = invent_people(domain.area, people)
    rows = len(invented.person)
    person = invented.person if unit is Unit.PERSON else np.zeros(rows, dtype=np.int64)
    random = np.random.default_rng(1)
    share = invented.share(domain.area)
    columns = [
        np.zeros(rows, dtype=np.uint64),
        person.astype(np.uint64),
        invented.x,
        invented.y,
        invented.time,
        pa.nulls(rows, pa.int32()),
        *(random.binomial(each.steps, share).astype(np.int32) for each in domain.measures),
        *(random.integers(0, len(each), rows, dtype=np.uint8) for each in domain.categories),
    ]
    # Destinations are positions at which other invented people, or the same person, were seen.
    if domain.destinations:
        end = random.permutation(rows)
        columns += [invented.x[end], invented.y[end]]
    schema = canonical_schema(
        len(domain.measures), len(domain.categories), destination=domain.destinations
    )
    pq.write_table(pa.Table.from_arrays(list(map(pa.array, columns)), schema=schema), path)
