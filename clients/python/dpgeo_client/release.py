"""One release: its facts, files, tables, plots and answers to range queries."""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpgeo_client import notebook, types
from dpgeo_client.connection import Connection
from dpgeo_client.errors import NetworkError
from dpgeo_client.slices import MECHANISMS, Slice, is_slice, read_slice

if TYPE_CHECKING:
    import geopandas

PREFERRED = "GeoParquet"

COUNTED = ("counted", "counted_in_sums")
"""Keys that are in the metadata of a downloaded file but not in the API's JSON.

They say what one feature counts, and what a sum over several features counts.
"""


class Release:
    """One differentially private release; `facts` is the API's JSON about it."""

    def __init__(self, connection: Connection, facts: types.Release) -> None:
        self._connection = connection
        self._statement: dict[str, Any] | None = None
        self.facts = facts

    def __repr__(self) -> str:
        return f"<Release {self.id} {self.title!r}>"

    def _repr_html_(self) -> str:
        return notebook.card(self.facts)

    @property
    def id(self) -> str:
        """The release's id."""
        return self.facts["id"]

    @property
    def title(self) -> str:
        """The release's title."""
        return self.facts["title"]

    @property
    def page(self) -> str:
        """The URL of the release's page."""
        return str(self.facts["links"]["page"])

    @property
    def layers(self) -> list[str]:
        """The names of the release's layers, in the order in which the API lists their files."""
        return list(dict.fromkeys(file["layer"] for file in self.facts["files"] if file["layer"]))

    @property
    def slices(self) -> list[Slice]:
        """The release's time slices in order, each of which is a layer.

        The list is empty unless the release is a map by time.
        """
        if self.facts["mechanism"] not in MECHANISMS:
            return []
        # An inferred map by time also has layers of measured boxes, which do not count as slices
        # here.
        found = [each for each in self._errors() if is_slice(each["layer"])]
        return [read_slice(each["layer"], each["title"]) for each in found]

    def statement(self) -> dict[str, Any]:
        """Return the privacy statement of the release. Raises LookupError if there is none yet."""
        if self.facts["statement_url"] is None:
            raise LookupError("This release has no statement yet.")
        if self._statement is None:
            self._statement = self._connection.get(self.facts["statement_url"])
        return dict(self._statement or {})

    def attributes(self) -> dict[str, Any]:
        """Return the metadata that tables and plots of this release must carry, as JSON values.

        The metadata include epsilon, margins, licence, citation and publisher.
        """
        facts = self.facts
        return {
            "title": facts["title"],
            "dataset": facts["dataset"]["title"],
            "publisher": facts["publisher"]["name"],
            "published_on": facts["published_on"],
            "licence": facts["licence"],
            "attribution": facts["attribution"],
            "citation": self.statement().get("citation", ""),
            "notion": facts["notion"],
            "epsilon": facts["epsilon"],
            "cost": facts["cost"],
            "promise": facts["promise"]["sentence"],
            "unit": facts["unit"],
            "counting": facts["counting"],
            "bound": facts["bound"],
            "mechanism": facts["mechanism"],
            "parameters": facts["parameters"],
            "margins": {
                each["layer"]: {
                    "title": each["title"],
                    "margin_95": each["margin_95"],
                    "stands_out_from": each["stands_out_from"],
                    "label": each["margin_label"],
                    "note": each["margin_note"],
                }
                for each in self._errors()
            },
            "page": self.page,
            "release": facts["id"],
        }

    def file(self, form: str, layer: str | None = None) -> types.File:
        """Return a file by its format, such as "GeoPackage", and its layer.

        The default layer is the measured one. If no file of the format belongs to a layer, `layer`
        is ignored. If the format has files with and without a layer, as with synthetic points, the
        layer "" selects those without. Raises LookupError if there is no such file, with a list of
        the existing ones; if the release has no privacy statement yet; or if it has several slices
        and no `layer` is given.
        """
        wanted = self._measured() if layer is None else layer
        fitting = [file for file in self.facts["files"] if file["format"] == form]
        of_layers = any(file["layer"] for file in fitting)
        if not of_layers:
            wanted = ""
        several_slices = of_layers and layer is None and not wanted
        for file in fitting:
            if file["layer"] == wanted and not several_slices:
                return file
        if several_slices:
            names = ", ".join(each.layer for each in self.slices)
            raise LookupError(f"This map has a file for each slice; choose a layer: {names}.")
        there = sorted(
            {f"{file['layer']} {file['format']}".strip() for file in self.facts["files"]}
        )
        of_layer = f" of layer {wanted!r}" if wanted else ""
        raise LookupError(f"There is no {form}{of_layer}; there are {', '.join(there)}.")

    def download(self, folder: Path | str, form: str = PREFERRED, layer: str | None = None) -> Path:
        """Save a file in a folder, which is made if it is missing, and return the file's path.

        Most files are made when somebody first asks for them; this waits until the file is made.
        Raises LookupError if there is no such file, or `layer` must be given (see `file`);
        NetworkError if the file's checksum is wrong; or TimeoutError if it takes the server more
        than half an hour.
        """
        file = self.file(form, layer)
        path = Path(folder) / Path(file["name"]).name
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection.download(file["url"], path)
        # `facts` was read before the server made this file, so it has no checksum of the file yet.
        if file["sha256"] is None:
            self.facts = self._connection.get(self.facts["url"])
            file = self.file(form, layer)
        with path.open("rb") as content:
            if hashlib.file_digest(content, "sha256").hexdigest() != file["sha256"]:
                path.unlink()
                raise NetworkError(f"{file['name']} was changed on its way; ask again.")
        return path

    def download_all(self, folder: Path | str, form: str = PREFERRED) -> list[Path]:
        """Save the measured layer's file, or those of all slices of a map by time, and return the
        paths.
        """
        names: list[str | None] = [each.layer for each in self.slices]
        return [self.download(folder, form, name) for name in names or [None]]

    def to_arrow(self, layer: str | None = None) -> Any:
        """Return a layer, by default the measured one, as a pyarrow.Table.

        Without a layer, a map by time is in long form: the rows of all slices, with the columns
        `slice`, `start` and `end` before the others. The table has GeoParquet metadata, so that it
        can be written as GeoParquet, and the key `dpgeo`, which contains `attributes()` as JSON.
        """
        import pyarrow as pa

        parts = self.slices if layer is None else []
        if parts:
            table = pa.concat_tables([self._part(each) for each in parts])
        else:
            table = self._table(layer)
        facts = json.loads((table.schema.metadata or {}).get(b"dpgeo", b"{}"))
        carried = {name: facts[name] for name in COUNTED if name in facts} | self.attributes()
        metadata = {**(table.schema.metadata or {}), b"dpgeo": json.dumps(carried).encode()}
        return table.replace_schema_metadata(metadata)

    def to_geopandas(self, layer: str | None = None) -> geopandas.GeoDataFrame:
        """Return a layer, by default the measured one, as a GeoDataFrame in degrees.

        Without a layer, a map by time is in long form, as in `to_arrow`. The frame's `attrs`
        include `attributes()`.
        """
        import geopandas

        table = self.to_arrow(layer)
        shapes = geopandas.GeoSeries.from_wkb(
            table["geometry"].to_numpy(zero_copy_only=False), crs="EPSG:4326"
        )
        plain = table.drop_columns([n for n in ("geometry", "bbox") if n in table.column_names])
        frame = geopandas.GeoDataFrame(
            plain.replace_schema_metadata(None).to_pandas(), geometry=shapes
        )
        frame.attrs = json.loads(table.schema.metadata[b"dpgeo"])
        return frame

    def to_xarray(self, layer: str | None = None) -> Any:
        """Return a layer of single cells as an xarray.Dataset over latitude and longitude.

        Cells without a row, because they are outside the study area or were not listed, are NaN.
        Maps by time have `slice` as their first dimension, with the coordinates `start` and `end`.
        Raises LookupError if the layer's features are not the cells of a grid.
        """
        from dpgeo_client.rasters import to_dataset

        return to_dataset(self.to_arrow(layer), self.attributes())

    def plot(self, layer: str | None = None, ax: Any = None) -> Any:
        """Draw a layer with its legend and citation, using matplotlib; return the figure.

        Counts below the threshold, which cannot be told from zero, are grey. Without a layer, a map
        by time has one plot for each slice, all with the same scale. If only one layer is drawn,
        `ax` may be the axes to draw on.
        """
        from dpgeo_client.plotting import draw

        return draw(self.to_geopandas(layer), ax)

    def explore(self, height: int = 560) -> notebook.Frame:
        """Return a frame that shows the site's interactive map in a notebook.

        The frame has only a few hundred bytes; the map is loaded from the site, as for any visitor.
        Raises LookupError if the release is not published.
        """
        if self.facts["state"] != "published":
            raise LookupError("Only published maps can be framed; plot() draws this one.")
        return notebook.frame(self._connection.url, self.facts, height)

    def query(self, region: Any, layer: str | None = None) -> types.Answer:
        """Return the count in a region, with its margin of error. Nothing is spent.

        The region is a GeoJSON polygon, a shapely polygon, or a box (west, south, east, north) in
        degrees. For maps by time, `layer` is the slice to count in; without it, all slices are
        summed.
        """
        shape = getattr(region, "__geo_interface__", region)
        body = {"polygon": shape} if isinstance(shape, dict) else {"bbox": list(shape)}
        return self._ask(body, layer)["results"][0]

    def query_flow(
        self,
        origin: Any = None,
        destination: Any = None,
        layer: str | None = None,
    ) -> types.Answer:
        """Return the trips from one region to another, with their margin of error.

        The trips lead from `origin` to `destination`. Both are regions as in `query`; None means
        anywhere. `layer` names the flows of one slice of time.
        """
        body = {}
        for name, region in (("from", origin), ("to", destination)):
            if region is not None:
                shape = getattr(region, "__geo_interface__", region)
                body[name] = shape if isinstance(shape, dict) else list(shape)
        return self._ask(body, layer)["results"][0]

    def top(self, k: int = 20, context: str | None = None) -> types.Top:
        """Return the k busiest places, with the ranks that each may have.

        `context` is the key of a slice of time or of a value of a category, such as "2-tuesday";
        None means all slices together.
        """
        answer: types.Top = self._connection.get(
            f"{self.facts['url']}/top", k=str(k), context=context
        )
        return answer

    def query_regions(self, collection: Any, layer: str | None = None) -> list[types.Answer]:
        """Return the counts in many regions, given as a GeoJSON FeatureCollection or a
        GeoDataFrame.
        """
        regions = getattr(collection, "__geo_interface__", collection)
        return self._ask({"regions": regions}, layer)["results"]

    def radius_map(self, reward: float, **settings: Any) -> geopandas.GeoDataFrame:
        """Return a map of the radius within which people must be notified of a task at each point.

        The result is a GeoDataFrame. Its column `feature` is "band" (with from_metres and
        to_metres), "line" (with metres) or "out_of_reach": where no radius reaches the target
        success probability if a task pays `reward`. `settings` are parameters of
        /api/v1/plan/radius, such as target, willingness, travel_metres and worker_share. The
        frame's `attrs` contain the reward and the settings. Raises ApiError or NetworkError.
        """
        import geopandas

        body = {"release": self.id, "reward": reward, **settings}
        answer: types.RadiusMap = self._connection.post("/api/v1/plan/radius", body)
        frame = geopandas.GeoDataFrame.from_features(answer["features"], crs="EPSG:4326")
        frame.attrs = {"reward": answer["reward"], "settings": answer["settings"]}
        return frame

    def _ask(self, body: dict[str, Any], layer: str | None) -> types.Answers:
        if layer is not None:
            body["layer"] = layer
        answers: types.Answers = self._connection.post(f"{self.facts['url']}/query", body)
        return answers

    def _errors(self) -> list[dict[str, Any]]:
        """Return the expected error of each layer, as given in the statement."""
        return list(self.statement()["expected_error"])

    def _measured(self) -> str:
        """Return the name of the first measured layer, or of the first layer if all are inferred.

        Averages, for example, are inferred from two measured sums. The name is "" if there are
        several slices, because none of them takes precedence.
        """
        if len(self.slices) > 1:
            return ""
        errors = self._errors()
        return str(
            next((each for each in errors if each["kind"] == "measured"), errors[0])["layer"]
        )

    def _table(self, layer: str | None) -> Any:
        import pyarrow.parquet

        with tempfile.TemporaryDirectory() as folder:
            return pyarrow.parquet.read_table(self.download(Path(folder), PREFERRED, layer))

    def _part(self, each: Slice) -> Any:
        """Return a slice's table with the slice's title, start and end as its first columns."""
        import pyarrow as pa

        table = self._table(each.layer)
        metadata = table.schema.metadata
        columns = {"slice": each.title, "start": each.start, "end": each.end}
        for place, (name, text) in enumerate(columns.items()):
            table = table.add_column(place, name, pa.repeat(text, len(table)))
        return table.replace_schema_metadata(metadata)
