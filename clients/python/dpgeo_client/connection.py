"""HTTP connection to one server, with the server's errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx

TIMEOUT_SECONDS = 60.0


class ApiError(Exception):
    """An error from the server: its `status`, and what is wrong and what to do about it.

    `field` names the input at fault, "" if there is none.
    """

    def __init__(self, status: int, title: str, detail: str, field: str = "") -> None:
        at = f" ({field})" if field else ""
        super().__init__(f"{title}{at}: {detail}")
        self.status, self.title, self.detail, self.field = status, title, detail, field


class Connection:
    """Requests to one server, with a key where there is one."""

    def __init__(self, url: str, key: str | None = None) -> None:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.Client(
            base_url=url.rstrip("/"), headers=headers, timeout=TIMEOUT_SECONDS
        )

    def get(self, address: str, **query: Any) -> Any:
        """Return the JSON at an address, relative or absolute. Raises ApiError."""
        given = {name: value for name, value in query.items() if value is not None}
        return self._json(self._client.get(address, params=given or None))

    def post(self, address: str, body: Any, headers: Mapping[str, str] | None = None) -> Any:
        """Post JSON and return the answer. Raises ApiError."""
        return self._json(self._client.post(address, json=body, headers=headers))

    def pages(self, address: str, **query: Any) -> Iterator[Any]:
        """Yield the results of a list, page by page."""
        page = self.get(address, **query)
        while True:
            yield from page["results"]
            if page["next"] is None:
                return
            page = self.get(page["next"])

    def download(self, address: str, path: Path) -> None:
        """Write a file as it arrives. Raises ApiError."""
        with self._client.stream("GET", address) as answer:
            if answer.is_error:
                answer.read()
                self._json(answer)
            with path.open("wb") as file:
                for piece in answer.iter_bytes():
                    file.write(piece)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    @staticmethod
    def _json(answer: httpx.Response) -> Any:
        try:
            document = answer.json()
        except ValueError:
            document = {}
        if answer.is_error:
            raise ApiError(
                answer.status_code,
                document.get("title", answer.reason_phrase),
                document.get("detail", "The server says no more."),
                document.get("field", ""),
            )
        return document
