"""The catalogue of a server."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import date
from types import TracebackType
from typing import Any, Self

from dpgeo_client import types
from dpgeo_client.connection import Connection
from dpgeo_client.release import Release

Box = tuple[float, float, float, float]

POLL_SECONDS = 1.0


class Catalogue(AbstractContextManager["Catalogue"]):
    """A dpgeo server. A key (dpg_...) is needed to request releases, not to read them."""

    def __init__(self, url: str, key: str | None = None) -> None:
        self._connection = Connection(url, key)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
        """Return the matching releases, newest first. Raises ApiError."""
        found = self._connection.pages(
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
        return (Release(self._connection, facts) for facts in found)

    def release(self, release_id: str) -> Release:
        """Return one release. Raises ApiError."""
        return Release(self._connection, self._connection.get(f"/api/v1/releases/{release_id}"))

    def datasets(self) -> Iterator[types.Dataset]:
        """Return the datasets, as declared."""
        return self._connection.pages("/api/v1/datasets")

    def mechanisms(self) -> Iterator[types.Mechanism]:
        """Return the mechanisms, with their parameters as JSON Schema."""
        return self._connection.pages("/api/v1/mechanisms")

    def quote(self, dataset: str, **asked: Any) -> types.Quote:
        """Return the cost and the noise of a request. Nothing is spent."""
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
        """Pay for a release, wait up to `wait` seconds for it, and return it.

        `name` identifies the request: sent again with the same name, it is paid for once. Raises
        ApiError; RuntimeError if the job ended without a result, whose reason the publisher's desk
        shows; and TimeoutError when it takes longer, while the job continues.
        """
        body = {
            **{"dataset": dataset, "title": title, "mechanism": mechanism},
            **{"parameters": dict(parameters), "epsilon": epsilon, "bound": bound},
            **{"counting": counting, "publish_when_done": publish_when_done, **further},
        }
        headers = {"Idempotency-Key": name or str(uuid.uuid4())}
        job: types.Job = self._connection.post("/api/v1/releases", body, headers)
        done = self._wait(job, wait, progress)
        if not done["has_result"] or done["release_url"] is None:
            raise RuntimeError("The job ended without a release; the publisher's desk says why.")
        return Release(self._connection, self._connection.get(done["release_url"]))

    def _wait(self, job: types.Job, seconds: float, progress: bool) -> types.Job:
        deadline = time.monotonic() + seconds
        with _bar(progress) as bar:
            while job["state"] != "done":
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{job['url']} is still {job['state']}; ask it again later.")
                bar.set_description(job["state"])
                bar.update()
                time.sleep(POLL_SECONDS)
                job = self._connection.get(job["url"])
        return job


def _bar(shown: bool) -> Any:
    """Return a bar that counts the seconds; a key sees only the state of a job."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _NoBar()
    return tqdm(unit=" s", disable=not shown)


class _NoBar(AbstractContextManager["_NoBar"]):
    def __exit__(self, *error: object) -> None:
        return None

    def set_description(self, text: str) -> None:
        """Ignore the text."""

    def update(self) -> None:
        """Ignore the count."""
