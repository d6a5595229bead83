"""The catalogue of a dpgeo server: releases, datasets, uploads, and quotes (expected costs)."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from dpgeo_client import notebook, types
from dpgeo_client.connection import Connection
from dpgeo_client.jobs import bar, wait_for
from dpgeo_client.release import Release
from dpgeo_client.upload import Upload, send_file

Box = tuple[float, float, float, float]


class Releases(list[Release]):
    """A list of releases, which notebooks display as a table."""

    def _repr_html_(self) -> str:
        return notebook.table([release.facts for release in self])


class Catalogue(AbstractContextManager["Catalogue"]):
    """A dpgeo server.

    A key (dpg_...) is needed to upload files and to request releases, but not to read.
    """

    def __init__(self, url: str, key: str | None = None) -> None:
        self._connection = Connection(url, key)

    def __repr__(self) -> str:
        return f"<Catalogue {self._connection.url}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def releases(
        self,
        *,
        bbox: Box | None = None,
        dataset: str | None = None,
        organisation: str | None = None,
        kind: str | None = None,
        mechanism: str | None = None,
        published_from: date | None = None,
        published_to: date | None = None,
    ) -> Iterator[Release]:
        """Return the matching releases, newest first. Raises ApiError or NetworkError.

        Without arguments, all releases match. `bbox` is (west, south, east, north) in degrees, and
        `published_from` and `published_to` are the first and the last day of publication.
        """
        pages = self._connection.pages(
            "/api/v1/releases",
            bbox=None if bbox is None else ",".join(map(str, bbox)),
            dataset=dataset,
            organisation=organisation,
            kind=kind,
            mechanism=mechanism,
            published_from=published_from,
            published_to=published_to,
            limit=100,
        )
        return (Release(self._connection, facts) for facts in pages)

    def search(self, words: str = "", **narrowed: Any) -> Releases:
        """Return the releases that contain all the words, newest first.

        The words are searched for in title, description, dataset, publisher, kind and mechanism.
        Parts of words match, and case is ignored. `narrowed` are arguments of `releases`, with
        which the server narrows the list before it is searched here. Raises ApiError or
        NetworkError.
        """
        wanted = words.casefold().split()
        matches = self.releases(**narrowed)
        return Releases(r for r in matches if all(word in _text(r.facts) for word in wanted))

    def release(self, release_id: str) -> Release:
        """Return a release by its id. Raises ApiError or NetworkError."""
        return Release(self._connection, self._connection.get(f"/api/v1/releases/{release_id}"))

    def datasets(self) -> Iterator[types.Dataset]:
        """Yield the server's datasets as their owners declared them."""
        return self._connection.pages("/api/v1/datasets")

    def mechanisms(self) -> Iterator[types.Mechanism]:
        """Yield the server's mechanisms, with their parameters as JSON Schema."""
        return self._connection.pages("/api/v1/mechanisms")

    def upload(
        self,
        dataset: str,
        path: Path | str,
        columns: Mapping[str, object] | None = None,
        *,
        wait: float = 3600,
        progress: bool = True,
    ) -> Upload:
        """Send a file to a dataset, confirm its columns, and wait until it has been read.

        With `progress`, progress bars are shown if tqdm is installed.

        An interrupted transfer is resumed. `columns` maps roles to column names: longitude and
        latitude, or geometry; person if the dataset protects persons; time. Without it, the file
        waits for `Upload.confirm`, and `Upload.preview()` shows the server's guess at the columns.
        Raises ApiError or NetworkError; RuntimeError if the file cannot be used; or TimeoutError if
        reading takes longer than `wait` seconds, while the job continues.
        """
        with bar(progress, unit="B", unit_scale=True) as shown:
            sent = send_file(self._connection, dataset, Path(path), shown)
        upload = Upload(self._connection, sent)
        if columns is not None:
            upload.confirm(columns, wait=wait, progress=progress)
        return upload

    def quote(self, dataset: str, **asked: Any) -> types.Quote:
        """Return the cost and the noise that a release would have. Nothing is spent."""
        quote: types.Quote = self._connection.post(f"/api/v1/datasets/{dataset}/quote", asked)
        return quote

    def request_release(
        self,
        *,
        dataset: str,
        title: str,
        mechanism: str,
        parameters: Mapping[str, Any],
        epsilon: str,
        bound: int,
        counting: str = "people",
        publish_when_done: bool = False,
        name: str | None = None,
        wait: float = 3600,
        progress: bool = True,
        **further: Any,
    ) -> Release:
        """Request a release, wait up to `wait` seconds for it, and return it.

        The release's cost is debited from the budget. `name` identifies the request: if it is sent
        again with the same name, its cost is debited only once. Raises ApiError or NetworkError.
        Raises TimeoutError if the job takes longer; the job then continues. Raises RuntimeError if
        the job ended without a result; the publisher's desk shows the reason.
        """
        body = {
            **{"dataset": dataset, "title": title, "mechanism": mechanism},
            **{"parameters": dict(parameters), "epsilon": epsilon, "bound": bound},
            **{"counting": counting, "publish_when_done": publish_when_done, **further},
        }
        headers = {"Idempotency-Key": name or str(uuid.uuid4())}
        job: types.Job = self._connection.post("/api/v1/releases", body, headers)
        done = wait_for(self._connection, job, wait, progress)
        if not done["has_result"] or done["release_url"] is None:
            raise RuntimeError("The job ended without a release; the publisher's desk says why.")
        return Release(self._connection, self._connection.get(done["release_url"]))


def _text(facts: types.Release) -> str:
    """Return the text of a release that `search` searches, in lower case."""
    parts = (
        *(facts["title"], facts["description"], facts["dataset"]["title"]),
        *(facts["publisher"]["name"], facts["kind"], facts["mechanism"]),
    )
    return " ".join(parts).casefold()
