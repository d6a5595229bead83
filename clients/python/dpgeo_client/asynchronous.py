"""Asynchronous version of the catalogue, which runs each call in a thread.

If a call is cancelled, its thread goes on until the call is done or the catalogue is closed.
Whatever the call has sent to the server by then remains in effect.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from dpgeo_client import types
from dpgeo_client.catalogue import Catalogue, Releases
from dpgeo_client.release import PREFERRED, Release
from dpgeo_client.upload import Upload

T = TypeVar("T")

if TYPE_CHECKING:
    import geopandas


class AsyncRelease:
    """A release with awaitable versions of the methods that send requests.

    `release` is the underlying Release, with the ordinary methods.
    """

    def __init__(self, release: Release) -> None:
        self.release = release
        self.facts = release.facts

    def __repr__(self) -> str:
        return repr(self.release)

    def _repr_html_(self) -> str:
        return self.release._repr_html_()

    @property
    def id(self) -> str:
        """The release's id."""
        return self.release.id

    @property
    def title(self) -> str:
        """The release's title."""
        return self.release.title

    @property
    def layers(self) -> list[str]:
        """The names of the release's layers, in the order in which the API lists their files."""
        return self.release.layers

    async def statement(self) -> dict[str, Any]:
        """Return the privacy statement; see Release.statement."""
        return await _run(self.release.statement)

    async def download(
        self, folder: Path | str, form: str = PREFERRED, layer: str | None = None
    ) -> Path:
        """Save a file and return its path; see Release.download."""
        return await _run(self.release.download, folder, form, layer)

    async def to_arrow(self, layer: str | None = None) -> Any:
        """Return a layer as a pyarrow.Table; see Release.to_arrow."""
        return await _run(self.release.to_arrow, layer)

    async def to_geopandas(self, layer: str | None = None) -> geopandas.GeoDataFrame:
        """Return a layer as a table with a geometry; see Release.to_geopandas."""
        return await _run(self.release.to_geopandas, layer)

    async def to_xarray(self, layer: str | None = None) -> Any:
        """Return a layer of single cells as an xarray.Dataset; see Release.to_xarray."""
        return await _run(self.release.to_xarray, layer)

    async def query(self, region: Any, layer: str | None = None) -> types.Answer:
        """Return the count in a region, with its margin of error; see Release.query."""
        return await _run(self.release.query, region, layer)

    async def query_flow(
        self,
        origin: Sequence[float] | None = None,
        destination: Sequence[float] | None = None,
        layer: str | None = None,
    ) -> types.Answer:
        """Return the trips from one region to another; see Release.query_flow."""
        return await _run(self.release.query_flow, origin, destination, layer)

    async def top(self, k: int = 20, context: str | None = None) -> types.Top:
        """Return the k busiest places; see Release.top."""
        return await _run(self.release.top, k, context)

    async def query_regions(self, collection: Any, layer: str | None = None) -> list[types.Answer]:
        """Return the counts in many regions; see Release.query_regions."""
        return await _run(self.release.query_regions, collection, layer)

    async def radius_map(self, reward: float, **settings: Any) -> geopandas.GeoDataFrame:
        """See Release.radius_map."""
        return await _run(self.release.radius_map, reward, **settings)


class AsyncCatalogue(AbstractAsyncContextManager["AsyncCatalogue"]):
    """A dpgeo server; see Catalogue for each method's arguments and errors."""

    def __init__(self, url: str, key: str | None = None) -> None:
        self.catalogue = Catalogue(url, key)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await _run(self.catalogue.close)

    async def releases(self, **narrowed: Any) -> AsyncIterator[AsyncRelease]:
        """Yield the matching releases, newest first; see Catalogue.releases."""
        pages = self.catalogue.releases(**narrowed)
        while (release := await _run(next, pages, None)) is not None:
            yield AsyncRelease(release)

    async def search(self, words: str = "", **narrowed: Any) -> Releases:
        """Return the releases that contain all the words; see Catalogue.search."""
        return await _run(self.catalogue.search, words, **narrowed)

    async def release(self, release_id: str) -> AsyncRelease:
        """Return a release by its id; see Catalogue.release."""
        return AsyncRelease(await _run(self.catalogue.release, release_id))

    async def upload(
        self,
        dataset: str,
        path: Path | str,
        columns: Mapping[str, object] | None = None,
        **how: Any,
    ) -> Upload:
        """Send a file to a dataset and wait until it has been read; see Catalogue.upload."""
        return await _run(self.catalogue.upload, dataset, path, columns, **how)

    async def quote(self, dataset: str, **asked: Any) -> types.Quote:
        """Return the cost and the noise that a release would have; see Catalogue.quote."""
        return await _run(self.catalogue.quote, dataset, **asked)

    async def request_release(self, **asked: Any) -> AsyncRelease:
        """Request a release, wait for it and return it; see Catalogue.request_release."""
        return AsyncRelease(await _run(self.catalogue.request_release, **asked))


async def _run(call: Callable[..., T], *words: Any, **named: Any) -> T:
    return await asyncio.to_thread(call, *words, **named)
