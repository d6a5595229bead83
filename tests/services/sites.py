"""HTTP clients for tests of real servers: a program with an API key, and a browser."""

from __future__ import annotations

import json
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from typing import Any

from tests.servers import free_port
from tests.services.installation import Installation
from tests.tus import announcement, piece_at

PATIENCE_SECONDS = 240.0

CSRF = "c" * 32

BOUNDARY = "a-line-between-parts"


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Handler that returns redirects as responses instead of following them."""

    def redirect_request(self, *_: Any) -> None:
        """Return None, so that no redirect is followed."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, headers and body of a response."""

    status: int
    headers: Message
    body: bytes

    def json(self) -> Any:
        """Return the body, parsed as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Site:
    """A client of the website on a port of 127.0.0.1; `headers` are sent with every request."""

    port: int
    headers: Mapping[str, str]

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Return the response, whatever its status. A body that is not bytes is sent as JSON."""
        path = urllib.parse.urlsplit(path)._replace(scheme="", netloc="").geturl()
        named = {**self.headers, **{name.replace("_", "-"): text for name, text in headers.items()}}
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            named["Content-Type"] = "application/json"
        elif body is not None:
            named.setdefault("Content-Type", "application/octet-stream")
        url = f"http://127.0.0.1:{self.port}{path}"
        request = urllib.request.Request(url, data=body, headers=named, method=method)
        opener = urllib.request.build_opener(NoRedirect)
        try:
            with opener.open(request, timeout=PATIENCE_SECONDS) as answer:
                return Answer(answer.status, answer.headers, answer.read())
        except urllib.error.HTTPError as refusal:
            return Answer(refusal.code, refusal.headers, refusal.read())

    def must(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Return the JSON of a response; fail if its status is an error."""
        answer = self.ask(method, path, body, **headers)
        assert answer.status < 400, (method, path, answer.status, answer.body[:2000])
        return answer.json() if answer.body else None

    def announce(self, slug: str, name: str, size: int) -> str:
        """Announce a file by tus, and return the URL of the upload."""
        address = f"/api/v1/datasets/{slug}/uploads/tus"
        answer = self.ask("POST", address, **announcement(name, size))
        assert answer.status == 201, answer.body[:2000]
        return answer.headers["Location"].removesuffix("/tus")

    def append(self, upload: str, content: bytes, offset: int = 0) -> None:
        """Send a piece of a file by tus."""
        self.must("PATCH", f"{upload}/tus", content, **piece_at(offset))

    def upload(self, slug: str, name: str, content: bytes) -> str:
        """Send a file in one request, and return the URL of the upload."""
        upload = self.announce(slug, name, len(content))
        self.append(upload, content)
        return upload

    def until_done(self, job: str) -> Any:
        """Wait for a job to end and return it."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (seen := self.must("GET", job))["state"] != "done":
            assert time.monotonic() < deadline, seen
            time.sleep(0.1)
        return seen


def program_at(port: int, facts: Mapping[str, Any]) -> Site:
    """Return a client that uses an organisation's key."""
    return Site(port, facts["headers"])


def browser_at(port: int, facts: Mapping[str, Any]) -> Site:
    """Return a client that uses the session of an organisation's owner."""
    cookie = f"dpgeo_session={facts['session']}; dpgeo_csrf={CSRF}"
    return Site(port, {"Cookie": cookie, "X-CSRFToken": CSRF})


def form(fields: Mapping[str, str]) -> bytes:
    """Encode fields as a form without files."""
    return urllib.parse.urlencode(fields).encode()


def form_with_file(name: str, content: bytes) -> bytes:
    """Encode a file as a multipart form with the boundary `BOUNDARY`."""
    head = (
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    )
    return head.encode() + content + f"\r\n--{BOUNDARY}--\r\n".encode()


def web_words(port: int) -> tuple[str, ...]:
    """Return the arguments after `python` that run a website on a port, without workers."""
    return ("manage.py", "serve", "--web-only", "--port", str(port))


@contextmanager
def site_of(installation: Installation) -> Iterator[int]:
    """Run an installation's website, and yield its port once it answers."""
    port = free_port()
    with installation.running(*web_words(port), "--processes", "1") as web:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not answers(port):
            assert web.poll() is None, (installation.folder / "log").read_text()[-4000:]
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield port


def wait_until_it_answers(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait until a site on the port answers; fail if `process`, which serves it, ends first."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not answers(port):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.1)


def answers(port: int) -> bool:
    """Return whether a site on the port answers requests."""
    try:
        return Site(port, {}).ask("GET", "/healthz").status == 200
    except OSError:
        return False
