"""Settings: headers, logs and the result of `check --deploy`."""

from __future__ import annotations

import io
import json
import logging
import logging.config
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory

from dpgeo.config.logs import logging_settings
from dpgeo.config.request_ids import WELL_FORMED, request_id
from dpgeo.releases.checks import check_count_memory

pytestmark = pytest.mark.one_database

SECRET = "b0a7-home-of-person-17"  # noqa: S105


def logged(record: logging.LogRecord) -> str:
    """Return the line that the project's log handler writes for a record."""
    configurator = logging.config.DictConfigurator(logging_settings(json=True))
    formatter = configurator.configure_formatter(configurator.config["formatters"]["line"])
    handler = logging.StreamHandler(stream := io.StringIO())
    handler.setFormatter(formatter)
    for entry in configurator.config["filters"].values():
        handler.addFilter(configurator.configure_filter(entry))
    handler.handle(record)
    return stream.getvalue()


def record_of(message: str, *arguments: object, error: BaseException | None) -> logging.LogRecord:
    """Return a log record like those that loggers create."""
    info = (type(error), error, error.__traceback__) if error is not None else None
    return logging.LogRecord("dpgeo", logging.ERROR, "", 1, message, arguments, info)


def failure() -> ValueError:
    """Return an exception that quotes private data, raised from another one that quotes them."""
    with pytest.raises(ValueError, match=SECRET) as caught:  # noqa: PT012
        try:
            float(SECRET)
        except ValueError as first:
            raise ValueError(f"cannot use {SECRET}") from first
    return caught.value


def test_an_exception_is_logged_by_type_and_place_without_its_message() -> None:
    line = logged(record_of("it failed", error=failure()))
    assert SECRET not in line
    written = json.loads(line)
    assert written["event"] == "it failed"
    assert written["error"].count("ValueError at tests.web.test_config:") == 2


def test_a_failed_task_is_logged_without_its_arguments() -> None:
    facts = {
        "name": "datasets.ingest",
        "id": "17",
        "description": "raised unexpected",
        "exc": f"ValueError({SECRET!r})",
        "traceback": f"Traceback {SECRET}",
        "args": f"[{SECRET!r}]",
    }
    line = logged(
        record_of("Task %(name)s[%(id)s] %(description)s: %(exc)s", facts, error=failure())
    )
    assert SECRET not in line
    assert json.loads(line)["event"] == "task datasets.ingest 17 raised unexpected"


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/", "/accounts/login/", "/api/v1/releases", "/no-such-page/"])
def test_every_answer_isolates_the_page_from_other_sites(client: Client, path: str) -> None:
    headers = client.get(path).headers
    policy = headers["Content-Security-Policy"].split("; ")
    assert "default-src 'self'" in policy
    assert not any(part.startswith("script-src") and "unsafe" in part for part in policy)
    assert "frame-ancestors 'none'" in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/desk/", "/de/desk/", "/admin/", "/accounts/login/"])
def test_browsers_keep_no_page_for_members(client: Client, path: str) -> None:
    assert "no-store" in client.get(path).headers["Cache-Control"]


@pytest.mark.django_db
def test_trace_repeats_no_header(client: Client) -> None:
    for path in ("/healthz", "/", "/api/v1/releases"):
        answer = client.trace(path)
        assert (answer.status_code, answer.content) == (405, b"")


def test_the_secret_key_is_made_once_and_readable_only_by_its_owner(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from dpgeo.config.settings import SECRET_KEY as k; print(k)"]
    environment = {**os.environ, "DPGEO_VAR": str(tmp_path / "var")}
    environment.pop("DPGEO_SECRET_KEY", None)
    keys = {
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    }
    assert len(keys) == 1
    assert len(keys.pop().strip()) > 50
    assert (tmp_path / "var" / "secret-key").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "var" / "private").stat().st_mode & 0o777 == 0o700


def test_other_users_of_the_machine_cannot_read_the_database(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import dpgeo.config.settings"]
    environment = {**os.environ, "DPGEO_VAR": str(tmp_path / "lib" / "var")}
    subprocess.run(command, env=environment, check=True)
    assert (tmp_path / "lib" / "var").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "lib" / "var" / "queue").stat().st_mode & 0o777 == 0o700


def test_deployment_checks_are_clean_behind_https(tmp_path: Path) -> None:
    checked = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=settings.BASE_DIR,
        env={
            **os.environ,
            "DPGEO_VAR": str(tmp_path),
            "DPGEO_HTTPS": "1",
            "DPGEO_EMAIL_URL": "smtp://mail.example.org:25",
            "DJANGO_SETTINGS_MODULE": "dpgeo.config.settings",
        },
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stderr


def test_an_answer_and_the_log_lines_of_its_request_bear_one_id(rf: RequestFactory) -> None:
    lines: list[str] = []

    def view(request: HttpRequest) -> HttpResponse:
        lines.append(logged(record_of("something happened", error=None)))
        return HttpResponse()

    answer = request_id(view)(rf.get("/", headers={"X-Request-ID": "proxy-0123456789"}))
    assert answer.headers["X-Request-ID"] == "proxy-0123456789"
    assert json.loads(lines[0])["request_id"] == "proxy-0123456789"
    assert "request_id" not in json.loads(logged(record_of("afterwards", error=None)))


@pytest.mark.django_db
@pytest.mark.parametrize(
    "given", ["", "short", "x" * 65, "Ann at 50.01, 10.01", "a-name\u00e9s-id"]
)
def test_an_id_that_is_not_well_formed_is_replaced(client: Client, given: str) -> None:
    request_id = client.get("/healthz", headers={"X-Request-ID": given}).headers["X-Request-ID"]
    assert request_id != given
    assert WELL_FORMED.fullmatch(request_id)


def test_the_web_server_does_not_log_requests() -> None:
    connection = "uncaptured python exception, closing channel <Connection 192.0.2.7:4711>"
    for message, arguments in (
        ("Exception while serving /maps/person-17", ()),
        ("Exception when servicing %r", ("/maps/person-17",)),
        (connection, ()),
    ):
        record = record_of(message, *arguments, error=failure())
        record.name = "waitress"
        line = logged(record)
        assert "192.0.2.7" not in line
        assert "person-17" not in line
        assert "request" in json.loads(line)["event"]


@pytest.mark.parametrize(("mebibytes", "problems"), [(127, ["dpgeo.E010"]), (128, [])])
def test_a_count_needs_some_memory(
    monkeypatch: pytest.MonkeyPatch, mebibytes: int, problems: list[str]
) -> None:
    monkeypatch.setattr(settings, "DPGEO_COUNT_MEMORY_MIB", mebibytes)
    assert [each.id for each in check_count_memory()] == problems
