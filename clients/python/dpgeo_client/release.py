"""One release: its facts, its files, and its range answers."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpgeo_client import types
from dpgeo_client.connection import Connection

if TYPE_CHECKING:
    import geopandas

PREFERRED = "GeoParquet"


class Release:
    """One differentially private release; `facts` is its document from the API."""

    def __init__(self, connection: Connection, facts: types.Release) -> None:
        self._connection = connection
        self.facts = facts

    def __repr__(self) -> str:
        return f"<Release {self.id} {self.title!r}>"

    @property
    def id(self) -> str:
        """Its id."""
        return self.facts["id"]

    @property
    def title(self) -> str:
        """Its title."""
        return self.facts["title"]

    @property
    def layers(self) -> list[str]:
        """Its layers, in the order of their files."""
        return list(dict.fromkeys(file["layer"] for file in self.facts["files"] if file["layer"]))

    def statement(self) -> dict[str, Any]:
        """The privacy statement. Raises LookupError if the release has none yet."""
        if self.facts["statement_url"] is None:
            raise LookupError("This release has no statement yet.")
        document: dict[str, Any] = self._connection.get(self.facts["statement_url"])
        return document

    def file(self, form: str, layer: str | None = None) -> types.File:
        """Return a file by its format, such as "GeoPackage", and layer, by default the measured
        one.

        Raises LookupError that lists the existing files, or says that there are none yet.
        """
        wanted = self._measured() if layer is None else layer
        for file in self.facts["files"]:
            if file["format"] == form and file["layer"] in {wanted, ""}:
                return file
        there = sorted({f"{file['layer']} {file['format']}" for file in self.facts["files"]})
        raise LookupError(f"There is no {form} of layer {wanted!r}; there are {', '.join(there)}.")

    def download(self, folder: Path, form: str = PREFERRED, layer: str | None = None) -> Path:
        """Save a file and return its path. Raises ValueError if its checksum is wrong."""
        file = self.file(form, layer)
        path = folder / file["name"]
        self._connection.download(file["url"], path)
        with path.open("rb") as content:
            if hashlib.file_digest(content, "sha256").hexdigest() != file["sha256"]:
                path.unlink()
                raise ValueError(f"{file['name']} was changed on its way; ask again.")
        return path

    def to_geopandas(self, layer: str | None = None) -> geopandas.GeoDataFrame:
        """Return a layer, by default the measured one, as a table with a geometry in degrees."""
        import geopandas

        with tempfile.TemporaryDirectory() as folder:
            return geopandas.read_parquet(self.download(Path(folder), PREFERRED, layer))

    def query(self, region: Any, layer: str | None = None) -> types.Answer:
        """Return the count in a region, with margin: a GeoJSON polygon, a shapely one, or a box.

        A box is (west, south, east, north) in degrees. Of maps by time, `layer` is the slice to
        count in; without it, all slices are summed. Nothing is spent.
        """
        shape = getattr(region, "__geo_interface__", region)
        body = {"polygon": shape} if isinstance(shape, dict) else {"bbox": list(shape)}
        return self._ask(body, layer)["results"][0]

    def query_regions(self, collection: Any, layer: str | None = None) -> list[types.Answer]:
        """Return the counts in many regions: a GeoJSON FeatureCollection or a GeoDataFrame."""
        regions = getattr(collection, "__geo_interface__", collection)
        return self._ask({"regions": regions}, layer)["results"]

    def _ask(self, body: dict[str, Any], layer: str | None) -> types.Answers:
        if layer is not None:
            body["layer"] = layer
        answers: types.Answers = self._connection.post(f"{self.facts['url']}/query", body)
        return answers

    def _measured(self) -> str:
        """Return the first measured layer, according to the statement; others are inferred."""
        told = self.statement()["expected_error"]
        return next(str(each["layer"]) for each in told if each["kind"] == "measured")
