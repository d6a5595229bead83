"""Metrics, alerts and the command `doctor`: what they tell operators, and what they must not."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as site_settings
from django.core import checks, mail
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

# Prometheus' library reads this variable when it is imported, and then counts in files.
os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(site_settings.DPGEO_METRICS_DIR)
from prometheus_client.parser import text_string_to_metric_families

from dpgeo.accounts.models import Role
from dpgeo.commands.management.commands import doctor
from dpgeo.datasets import checks as datasets_checks
from dpgeo.jobs import disk_space
from dpgeo.jobs.disk_space import Reading
from dpgeo.jobs.figures import job_figures
from dpgeo.jobs.models import Alert, Job, JobState
from dpgeo.releases import alerts
from dpgeo.releases.alerts import alerts_send
from tests.makers import make_dataset, make_ready, make_release
from tests.web.desk import make_desk

pytestmark = pytest.mark.django_db

TOKEN = "0123456789abcdef0123456789abcdef"  # noqa: S105


@pytest.fixture
def client(settings: Any) -> Client:
    site_settings.DPGEO_METRICS_DIR.mkdir(exist_ok=True)
    settings.DPGEO_METRICS_TOKEN = TOKEN
    return Client(headers={"Authorization": f"Bearer {TOKEN}"})


def scrape(client: Client) -> dict[str, float]:
    """Return the samples of a scrape by name and labels."""
    answer = client.get("/metrics")
    assert answer.status_code == 200
    families = text_string_to_metric_families(answer.content.decode())
    return {
        f"{sample.name}{sorted(sample.labels.values())}": sample.value
        for family in families
        for sample in family.samples
    }


def test_there_are_no_metrics_without_a_token_and_none_for_another(client: Client) -> None:
    assert client.get("/metrics").status_code == 200
    for other in ("", "Bearer", "Bearer ", f"Bearer {TOKEN}x", TOKEN):
        assert Client(headers={"Authorization": other}).get("/metrics").status_code == 401


def test_requests_are_counted_by_part_and_status(client: Client) -> None:
    visitor, before = Client(), scrape(client)
    visitor.get("/api/v1/releases")
    visitor.get("/de/desk/")
    visitor.get("/nowhere/")
    after = scrape(client)
    for labels in ("['2xx', 'api']", "['answered', 'desk']", "['4xx', 'pages']"):
        name = f"dpgeo_requests_total{labels}"
        assert after[name] == before.get(name, 0) + 1


def test_a_scrape_names_no_dataset(client: Client, tmp_path: Path) -> None:
    dataset = make_dataset(title="Where Ann lives")
    make_ready(dataset, tmp_path)
    make_release(dataset, title="A secret draft")
    text = client.get("/metrics").content.decode()
    for secret in (dataset.slug, "Ann", "secret draft", dataset.organisation.name):
        assert secret not in text


def make_job(state: JobState, *, minutes: float, took: float) -> Job:
    """Make a job that was requested `minutes` ago and, if it failed, ended `took` minutes later."""
    job = Job.objects.create(task="releases.run", state=state)
    requested_at = timezone.now() - timedelta(minutes=minutes)
    ended = requested_at + timedelta(minutes=took) if state == JobState.FAILED else None
    Job.objects.filter(pk=job.pk).update(submitted_at=requested_at, finished_at=ended)
    return job


def test_jobs_count_as_ended_once_keys_may_know_it(settings: Any) -> None:
    settings.DPGEO_JOB_SLOTS = [1, 5, 15, 60]
    make_job(JobState.FAILED, minutes=3, took=2)
    figures = job_figures()
    assert (figures.unfinished, figures.failed) == (1, 0)
    assert figures.oldest == pytest.approx(180, abs=30)
    make_job(JobState.FAILED, minutes=6, took=2)
    make_job(JobState.FAILED, minutes=0.5, took=0.2)
    make_job(JobState.FAILED, minutes=600, took=70)
    make_job(JobState.QUEUED, minutes=20, took=0)
    figures = job_figures()
    assert (figures.unfinished, figures.failed) == (3, 2)
    assert figures.ended == {"1m": 0, "5m": 1, "15m": 0, "60m": 0, "longer": 1}
    assert figures.oldest == pytest.approx(1200, abs=30)


def test_figures_do_not_change_with_the_duration_within_a_class(settings: Any) -> None:
    settings.DPGEO_JOB_SLOTS = [1, 5, 15, 60]
    job = make_job(JobState.FAILED, minutes=10, took=1.1)
    seen = []
    for took in (1.1, 3, 4.9):
        ended = Job.objects.get(pk=job.pk).submitted_at + timedelta(minutes=took)
        Job.objects.filter(pk=job.pk).update(finished_at=ended)
        figures = job_figures()
        seen.append((figures.unfinished, figures.failed, figures.ended, figures.oldest))
    assert seen[0] == seen[1] == seen[2]


@pytest.fixture
def received() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Run a webhook that records the messages it receives."""
    bodies: list[dict[str, str]] = []

    class Webhook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Webhook)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/", bodies
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def space(monkeypatch: pytest.MonkeyPatch) -> list[Reading]:
    """Return a list of readings of free disk space; the site always reads the last one."""
    readings = [Reading(1 << 40, low=False, writable=True)]
    for module in (disk_space, alerts):
        monkeypatch.setattr(module, "read_disk_space", lambda: readings[-1])
    return readings


def test_a_failed_job_is_told_once_by_mail_and_webhook(
    settings: Any, received: tuple[str, list[dict[str, str]]], space: list[Reading]
) -> None:
    settings.DPGEO_ALERT_MAIL = ["operators@example.org"]
    settings.DPGEO_ALERT_URL, bodies = received
    make_job(JobState.FAILED, minutes=9, took=1)
    assert alerts_send() == 0  # Jobs that failed before the first round of alerts are not reported.
    make_job(JobState.FAILED, minutes=9, took=1)
    assert alerts_send() == 1
    assert alerts_send() == 0
    (letter,) = mail.outbox
    assert letter.to == ["operators@example.org"]
    assert "Jobs have failed" in str(letter.body)
    assert [each["alert"] for each in bodies] == ["jobs-failed"]
    assert set(bodies[0]) == {"alert", "text", "at"}


@pytest.mark.parametrize(
    "answer", [b"no HTTP\r\n\r\n", b"", b"HTTP/1.1 302 Found\r\nLocation: x:\r\n\r\n"]
)
def test_a_webhook_that_answers_nonsense_stops_no_reaper(
    settings: Any, space: list[Reading], answer: bytes
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        settings.DPGEO_ALERT_URL = f"http://127.0.0.1:{server.getsockname()[1]}/"

        def talk() -> None:
            visitor, _ = server.accept()
            with visitor:
                visitor.recv(65536)
                visitor.sendall(answer)

        thread = threading.Thread(target=talk, daemon=True)
        thread.start()
        space.append(Reading(0, low=True, writable=True))
        call_command("reap", "--once", stdout=StringIO())
        thread.join()
    # Sending failed, so no alert about space is recorded, and the next round tries again.
    assert Alert.objects.get(name="space").level == 0


def test_a_webhook_that_redirects_is_not_followed(settings: Any, space: list[Reading]) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as named,
        socket.create_server(("127.0.0.1", 0)) as inner,
    ):
        inner.setblocking(False)
        settings.DPGEO_ALERT_URL = f"http://127.0.0.1:{named.getsockname()[1]}/"
        place = f"http://127.0.0.1:{inner.getsockname()[1]}/"

        def talk() -> None:
            visitor, _ = named.accept()
            with visitor:
                visitor.recv(65536)
                head = f"HTTP/1.1 302 Found\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n"
                visitor.sendall(head.encode())

        thread = threading.Thread(target=talk, daemon=True)
        thread.start()
        space.append(Reading(0, low=True, writable=True))
        assert alerts_send() == 0
        thread.join()
        with pytest.raises(BlockingIOError):
            inner.accept()


def test_a_waiting_draft_is_told_without_its_title(
    settings: Any, space: list[Reading], tmp_path: Path
) -> None:
    settings.DPGEO_ALERT_MAIL = ["operators@example.org"]
    dataset = make_dataset()
    make_ready(dataset, tmp_path)
    make_release(dataset, title="Where Ann lives")
    assert alerts_send() == 1
    assert "Ann" not in str(mail.outbox[0].body) + mail.outbox[0].subject


def test_a_message_that_nobody_took_is_tried_again(settings: Any, space: list[Reading]) -> None:
    settings.DPGEO_ALERT_URL = "http://127.0.0.1:9/"
    space.append(Reading(0, low=True, writable=True))
    assert alerts_send() == 0
    settings.DPGEO_ALERT_MAIL = ["operators@example.org"]
    assert alerts_send() == 1


def diagnose() -> str:
    output = StringIO()
    try:
        call_command("doctor", stdout=output)
    except CommandError as error:
        return output.getvalue() + str(error)
    return output.getvalue()


def test_doctor_passes_a_sound_installation(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets_checks, "missing_protections", list)  # as on a recent kernel
    settings.ALLOWED_HOSTS = ["localhost"]
    report = diagnose()
    assert "FAULT" not in report
    assert report.count("ok ") >= 9


@pytest.mark.parametrize(
    ("lacking", "words"),
    [("landlock", "offers no Landlock"), ("seccomp", "no seccomp here")],
)
def test_doctor_and_the_deployment_check_say_what_the_sandbox_lacks(
    monkeypatch: pytest.MonkeyPatch, lacking: str, words: str
) -> None:
    monkeypatch.setattr(datasets_checks, "missing_protections", lambda: [lacking])
    report = diagnose()
    assert report.count("FAULT  sandbox of uploads") == report.count(words) == 1
    [warning] = datasets_checks.check_sandbox()
    assert words in warning.msg
    found = checks.run_checks(include_deployment_checks=True)
    assert warning in found
    monkeypatch.setattr(datasets_checks, "missing_protections", list)
    assert "ok     sandbox of uploads" in diagnose()
    assert warning not in checks.run_checks(include_deployment_checks=True)


def test_doctor_says_what_to_do(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    settings.DPGEO_ALERT_URL = "nowhere"
    monkeypatch.setattr(doctor, "broker_state", lambda: "unreachable")
    monkeypatch.setattr(doctor, "database_state", lambda: "not migrated")
    job = Job.objects.create(task="releases.run")
    Job.objects.filter(pk=job.pk).update(submitted_at=timezone.now() - timedelta(hours=1))
    key = Path(settings.PERSON_KEY_FILE)
    key.touch()
    key.chmod(0o644)
    report = diagnose()
    key.unlink()
    for words in (
        "Set DPGEO_EMAIL_URL",
        "dpgeo.releases.E001",
        "check CELERY_BROKER_URL",
        "manage.py migrate",
        "Start workers",
        "chmod 600",
    ):
        assert words in report
    assert "checks found a fault" in report


def test_budgets_are_shown_to_administrators_alone() -> None:
    desk = make_desk()
    desk.declare()
    page = desk.page("/desk/operation/")
    assert "Invented trips" in page
    assert "Failed jobs" not in page
    assert "Was von den Budgets" in desk.page("/de/desk/operation/")
    assert desk.signed_in("ann", role=Role.APPROVER).get("/desk/operation/").status_code == 404
    other = make_desk("Other house", "stranger")
    assert other.client.get("/desk/operation/").status_code == 404
    other.user.is_superuser = True
    other.user.save()
    assert "Failed jobs" in other.page("/desk/operation/")
