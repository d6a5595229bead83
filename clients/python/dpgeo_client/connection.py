"""HTTP connection to one server, which raises the server's errors as exceptions."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from dpgeo_client.errors import ApiError, NetworkError

TIMEOUT_SECONDS = 60.0

PATIENCE_SECONDS = 1800.0
"""Seconds to wait for a file that the server makes when it is first asked for."""


class Connection:
    """Requests to one server, authenticated by a key if one is given.

    Threads may share a connection.
    """

    def __init__(self, url: str, key: str | None = None) -> None:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.url = url.rstrip("/")
        self._client = httpx.Client(base_url=self.url, headers=headers, timeout=TIMEOUT_SECONDS)

    def get(self, address: str, **query: Any) -> Any:
        """Return the JSON at a relative or absolute URL. Raises ApiError or NetworkError."""
        given = {name: value for name, value in query.items() if value is not None}
        return _json(self.send("GET", address, params=given or None))

    def post(self, address: str, body: Any, headers: Mapping[str, str] | None = None) -> Any:
        """Post JSON and return the JSON of the response. Raises ApiError or NetworkError."""
        return _json(self.send("POST", address, json=body, headers=headers))

    def send(self, method: str, address: str, **further: Any) -> httpx.Response:
        """Send a request and return the response. Raises ApiError or NetworkError."""
        with self._told(address):
            answer = self._client.request(method, address, **further)
        _refuse(answer)
        return answer

    def pages(self, address: str, **query: Any) -> Iterator[Any]:
        """Yield the items of a list, requesting its pages one after another."""
        page = self.get(address, **query)
        while True:
            yield from page["results"]
            if page["next"] is None:
                return
            page = self.get(page["next"])

    def download(self, address: str, path: Path, patience: float = PATIENCE_SECONDS) -> None:
        """Write a file to `path` as it arrives, and wait first if the server has yet to make it.

        Raises ApiError or NetworkError, or TimeoutError if the file is not made after `patience`
        seconds.
        """
        deadline = time.monotonic() + patience
        while (pause := self._download(address, path)) is not None:
            if time.monotonic() + pause > deadline:
                raise TimeoutError(f"{address} is still being made; ask for it again later.")
            time.sleep(pause)

    def _download(self, address: str, path: Path) -> float | None:
        """Write a file and return None; if it is still being made, return the seconds to wait."""
        with self._told(address), self._client.stream("GET", address) as answer:
            if not answer.is_success:
                answer.read()
            _refuse(answer)
            if answer.status_code == httpx.codes.ACCEPTED:
                after = answer.headers.get("retry-after", "")
                return float(after) if after.isdecimal() else 1.0
            with path.open("wb") as file:
                for piece in answer.iter_bytes():
                    file.write(piece)
        return None

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    @contextmanager
    def _told(self, address: str) -> Iterator[None]:
        """Raise NetworkError for network errors within the block."""
        try:
            yield
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            where = address if "://" in address else f"{self.url}{address}"
            why = str(error) or type(error).__name__
            raise NetworkError(
                f"{where} did not answer as expected: {why}. Check the address and the "
                "connection, then try again."
            ) from error


def _refuse(answer: httpx.Response) -> None:
    """Raise ApiError unless the response is a success."""
    if answer.is_success:
        return
    if answer.has_redirect_location:
        # The redirect is not followed, since the key could be sent to another site, or without
        # https.
        raise ApiError(
            answer.status_code,
            "The site is elsewhere",
            f"Use the address it names: {answer.headers['location']}",
        )
    try:
        problem = answer.json()
    except ValueError:
        problem = {}
    document = problem if isinstance(problem, dict) else {}
    after = answer.headers.get("retry-after", "")
    raise ApiError(
        answer.status_code,
        document.get("title", answer.reason_phrase),
        document.get("detail", "The server says no more."),
        document.get("field", ""),
        float(after) if after.isdecimal() else None,
    )


def _json(answer: httpx.Response) -> Any:
    try:
        return answer.json()
    except ValueError:
        raise ApiError(
            answer.status_code,
            "This is no answer of the API",
            f"Is {answer.request.url.host} a dpgeo site? Give the address of its first page.",
        ) from None
