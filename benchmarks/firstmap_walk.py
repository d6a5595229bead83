"""A simulated owner who signs in and presses the main button of one page after another."""

from __future__ import annotations

import http.client
import time
import urllib.parse
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

Pairs = list[tuple[str, str]]

REDIRECTS = {301, 302, 303}


@dataclass
class Form:
    """A form: its URL, its fields with their default values, and its main button."""

    method: str
    action: str
    fields: Pairs = field(default_factory=list)
    open_radios: set[str] = field(default_factory=set)
    """Names of radio groups with no preselected button, which are decisions without a default."""
    button: tuple[str, str] | None = None
    main: bool = False
    file: str = ""


class Page(HTMLParser):
    """Parser that finds a page's forms, its main link, and the text of its alerts."""

    def __init__(self, status: int, address: str, text: str) -> None:
        super().__init__()
        self.status, self.address, self.text = status, address, text
        self.forms: list[Form] = []
        self.main_link = ""
        self.alerts: list[str] = []
        self._form: Form | None = None
        self._select: str | None = None
        self._options: Pairs = []
        self._area: str | None = None
        self._alert = 0
        self.feed(text)

    @property
    def main_form(self) -> Form | None:
        """The form that contains the main button; None if no form does."""
        return next((form for form in self.forms if form.main), None)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record the start of a form, a field, a button or a link."""
        given = {name: value or "" for name, value in attrs}
        if self._alert or given.get("role") == "alert":
            self._alert += tag not in {"input", "br", "img", "meta", "link"}
        if "primary" in given.get("class", "").split():
            if tag == "a":
                self.main_link = given.get("href", "")
            elif tag == "button" and self._form:
                self._form.main = True
                if given.get("name"):
                    self._form.button = (given["name"], given.get("value", ""))
        if tag == "form":
            self._form = Form(given.get("method", "get").lower(), given.get("action", ""))
            self.forms.append(self._form)
        elif self._form and given.get("name") and "disabled" not in given:
            self._note(tag, given)
        if tag == "option" and self._select is not None:
            self._options.append((given.get("value", ""), "y" if "selected" in given else ""))

    def _note(self, tag: str, given: Mapping[str, str]) -> None:
        assert self._form is not None
        name, kind = given["name"], given.get("type", "text")
        if tag == "select":
            self._select, self._options = name, []
        elif tag == "textarea":
            self._area = ""
            self._form.fields.append((name, ""))
        elif tag == "input" and kind == "file":
            self._form.file = name
        elif tag == "input" and kind == "radio":
            if "checked" in given:
                self._form.fields.append((name, given.get("value", "on")))
                self._form.open_radios.discard(name)
            elif name not in dict(self._form.fields):
                self._form.open_radios.add(name)
        elif tag == "input" and (kind != "checkbox" or "checked" in given):
            self._form.fields.append((name, given.get("value", "")))

    def handle_data(self, data: str) -> None:
        """Record the text of alerts and text areas."""
        if self._alert and data.strip():
            self.alerts.append(" ".join(data.split()))
        if self._area is not None:
            self._area += data

    def handle_endtag(self, tag: str) -> None:
        """Record the end of a form, a text area, a selection or an alert."""
        self._alert -= bool(self._alert)
        if tag == "form":
            self._form = None
        elif tag == "textarea" and self._area is not None and self._form:
            name, _ = self._form.fields.pop()
            self._form.fields.append((name, self._area.strip()))
            self._area = None
        elif tag == "select" and self._select is not None and self._form:
            chosen = [value for value, marked in self._options if marked]
            value = chosen[0] if chosen else self._options[0][0] if self._options else ""
            self._form.fields.append((self._select, value))
            self._select = None


def cookies_of(session: str, csrf: str) -> dict[str, str]:
    """Return the cookies of somebody who has signed in."""
    return {"dpgeo_session": session, "dpgeo_csrf": csrf}


class Walker:
    """HTTP client with a session that requests pages, and counts pages and decisions."""

    def __init__(self, port: int, session: str, csrf: str) -> None:
        self._port = port
        cookies = cookies_of(session, csrf)
        self._headers = {"Cookie": "; ".join(f"{n}={value}" for n, value in cookies.items())}
        self._csrf = csrf
        self.pages = 0
        self.decisions: list[str] = []

    def get(self, address: str) -> Page:
        """Return the page at an address, after redirects."""
        return self._ask("GET", address, b"", "")

    def press(
        self, page: Page, decided: Mapping[str, str] | None = None, file: Path | None = None
    ) -> Page:
        """Press a page's main button and return the next page.

        Without a form that has a main button, the page's main link is followed. `decided` are field
        values that replace the defaults, and `file` is a file to upload. Raises ValueError if the
        page has neither a main button nor a main link.
        """
        form = page.main_form
        if form is None:
            if not page.main_link:
                raise ValueError(f"{page.address} has no main button: {page.alerts}")
            return self.get(urllib.parse.urljoin(page.address, page.main_link))
        fields = dict(form.fields) | dict([form.button] if form.button else [])
        for name, value in (decided or {}).items():
            fields[name] = value
            self.decisions.append(f"{name} {value}")
        if "csrfmiddlewaretoken" in fields:
            fields["csrfmiddlewaretoken"] = self._csrf
        action = urllib.parse.urljoin(page.address, form.action)
        if form.method == "get":
            return self.get(f"{action.partition('?')[0]}?{urllib.parse.urlencode(fields)}")
        if file is not None:
            self.decisions.append(f"file {file.name}")
            body, kind = _multipart(fields, form.file, file)
            return self._ask("POST", action, body, kind)
        body = urllib.parse.urlencode(fields).encode()
        return self._ask("POST", action, body, "application/x-www-form-urlencoded")

    def _ask(self, method: str, address: str, body: bytes, kind: str) -> Page:
        path = urllib.parse.urlsplit(address)._replace(scheme="", netloc="").geturl()
        for _ in range(6):
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=600)
            headers = self._headers | ({"Content-Type": kind} if kind else {})
            connection.request(method, path, body or None, headers)
            answer = connection.getresponse()
            text = answer.read().decode(errors="replace")
            connection.close()
            if answer.status not in REDIRECTS:
                break
            method, body, kind = "GET", b"", ""
            path = urllib.parse.urljoin(path, answer.headers["Location"])
        self.pages += 1
        return Page(answer.status, path, text)

    def until(self, address: str, words: str, seconds: float = 600.0) -> Page:
        """Reload a page until it contains the words, and return it. Raises TimeoutError if it never
        does.
        """
        deadline = time.monotonic() + seconds
        while words not in (page := self.get(address)).text:
            self.pages -= 1
            if time.monotonic() > deadline:
                raise TimeoutError(f"{address}: {page.alerts}")
            time.sleep(0.3)
        return page


def _multipart(fields: Mapping[str, str], name: str, file: Path) -> tuple[bytes, str]:
    mark = uuid.uuid4().hex
    parts = [
        f'--{mark}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode()
        for key, value in fields.items()
    ]
    head = (
        f'--{mark}\r\nContent-Disposition: form-data; name="{name}"; filename="{file.name}"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    )
    tail = f"\r\n--{mark}--\r\n".encode()
    body = b"".join([*parts, head.encode(), file.read_bytes(), tail])
    return body, f"multipart/form-data; boundary={mark}"
