"""Password reset by email, which never reveals which addresses have an account."""

from __future__ import annotations

import logging
import re
import sys
from datetime import datetime, timedelta
from smtplib import SMTPException
from typing import Any

import pytest
from celery import current_app
from django.core.mail.backends import locmem
from django.core.mail.backends.base import BaseEmailBackend
from django.core.management import call_command
from django.db import connection
from django.test import Client, TestCase
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.http import urlsafe_base64_encode

from dpgeo.accounts.fresh_tokens import ResetTokens, reset_tokens
from dpgeo.accounts.models import OutgoingMail, User
from dpgeo.accounts.outgoing_mail import WAITS, mail_wake
from dpgeo.config.celery import app
from dpgeo.config.logs import NoSecretLinks, logging_settings
from tests.web.mailbox import deliver

pytestmark = pytest.mark.django_db

ASK = "/accounts/password/"


def ask(client: Client, email: str) -> str:
    """Request a password reset by email, and return the page that follows."""
    answer = client.post(ASK, {"email": email}, follow=True)
    assert answer.status_code == 200
    return re.sub(r'name="csrf\w+" value="\w+"', "", answer.content.decode())


def test_a_forgotten_password_is_replaced_by_mail(client: Client) -> None:
    User.objects.create_user("ann", "ann@example.org", "old secret words")
    assert "Forgotten password" in client.get("/accounts/login/").content.decode()
    assert "Check your e-mail" in ask(client, "ann@example.org")
    (letter,) = deliver()
    assert letter.to == ["ann@example.org"]
    assert "ann" in letter.body
    match = re.search(r"http://testserver(/accounts/password/\S+)", str(letter.body))
    assert match
    page = client.get(match[1], follow=True)
    assert "Repeat it" in page.content.decode()
    typed = {"new_password1": "new secret words", "new_password2": "new secret words"}
    done = client.post(page.redirect_chain[-1][0], typed, follow=True)
    assert "Password set" in done.content.decode()
    assert User.objects.get().check_password("new secret words")
    assert "This link has expired" in Client().get(match[1], follow=True).content.decode()


def test_an_address_without_an_account_looks_the_same() -> None:
    User.objects.create_user("ann", "ann@example.org", "old secret words")
    assert ask(Client(), "ann@example.org") == ask(Client(), "bob@example.org")
    assert len(deliver()) == 1
    assert not OutgoingMail.objects.exists()


class UntouchedBackend(BaseEmailBackend):
    """A mail backend that a web request must not touch."""

    def open(self) -> bool:
        """Fail, as a connection would be made here."""
        raise AssertionError("a request connects to the mail server")

    def send_messages(self, email_messages: Any) -> int:
        """Fail, as a mail would be sent here."""
        raise AssertionError("a request sends mail")


def work_of_asking(email: str) -> tuple[list[str], list[tuple[str, list[type]]]]:
    """Ask for a new password; return the queries of the request, without values, and its tasks."""
    tasks: list[tuple[str, list[type]]] = []
    with (
        pytest.MonkeyPatch.context() as patched,
        CaptureQueriesContext(connection) as queries,
        TestCase.captureOnCommitCallbacks(execute=True),
    ):
        patched.setattr(
            current_app,
            "send_task",
            lambda name, args, **_: tasks.append((name, [type(each) for each in args])),
        )
        assert Client().post(ASK, {"email": email}).status_code == 302
    return [re.sub(r"'[^']*'|\b\d+\b|\bs\d+_x\d+", "?", each["sql"]) for each in queries], tasks


def test_a_request_does_the_same_work_with_and_without_an_account(settings: Any) -> None:
    settings.EMAIL_BACKEND = f"{__name__}.UntouchedBackend"
    settings.DPGEO_PASSWORDS_AN_HOUR = 50
    User.objects.create_user("ann", "ann@example.org", "old secret words")
    work_of_asking("first@example.org")  # the first request of an address creates its counter
    known, unknown = work_of_asking("ann@example.org"), work_of_asking("bob@example.org")
    assert known == unknown
    assert known[1] == [("accounts.mail", [int])]
    assert not any("accounts_user" in each for each in known[0])


def test_a_broker_that_is_down_answers_the_same_and_loses_nothing(
    monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError

    monkeypatch.setattr(current_app, "send_task", refuse)
    User.objects.create_user("ann", "ann@example.org", "old secret words")
    pages = set()
    for address in ("ann@example.org", "bob@example.org"):
        with django_capture_on_commit_callbacks(execute=True):
            pages.add(ask(Client(), address))
    assert len(pages) == 1
    assert mail_wake() == 0  # offered a moment ago
    OutgoingMail.objects.update(woken_at=None)
    offered: list[int] = []
    monkeypatch.setattr(current_app, "send_task", lambda _, args, **__: offered.extend(args))
    with django_capture_on_commit_callbacks(execute=True):
        call_command("reap", "--once")
    assert sorted(offered) == list(OutgoingMail.objects.values_list("pk", flat=True).order_by("pk"))
    assert len(deliver()) == 1


def test_the_worker_greets_the_mail_server_with_and_without_an_account(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(locmem.EmailBackend, "open", lambda _: opened.append("open"))
    User.objects.create_user("ann", "ann@example.org", "old secret words")
    for number, address in enumerate(("bob@example.org", "ann@example.org")):
        ask(Client(), address)
        assert len(deliver()) == number
        assert len(opened) == number + 1


def test_mail_is_tried_again_later_and_given_up_in_the_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise SMTPException("ann@example.org was refused")

    User.objects.create_user("ann", "ann@example.org", "old secret words")
    ask(Client(), "ann@example.org")
    monkeypatch.setattr(locmem.EmailBackend, "send_messages", fail)
    deliver()
    deliver()  # not due yet
    waiting = OutgoingMail.objects.get()
    assert waiting.attempts == 1
    assert waiting.due_at is not None
    assert waiting.due_at > timezone.now()
    for _ in range(len(WAITS)):
        OutgoingMail.objects.update(due_at=timezone.now())
        deliver()
    assert not OutgoingMail.objects.exists()
    assert "a mail was not sent: SMTPException" in caplog.text
    assert "ann@" not in caplog.text


def test_an_address_that_no_worker_took_is_forgotten_after_a_day(settings: Any) -> None:
    ask(Client(), "ann@example.org")
    call_command("reap", "--once")
    assert OutgoingMail.objects.exists()
    OutgoingMail.objects.update(created_at=timezone.now() - timedelta(days=1, seconds=1))
    call_command("reap", "--once")
    assert not OutgoingMail.objects.exists()


@pytest.mark.parametrize("host", ["testserver:6666", "testserver.", "TESTSERVER", "evil.example"])
def test_a_link_never_leads_where_a_request_says(host: str) -> None:
    User.objects.create_user("ann", "ann@example.org", "old secret words")
    answer = Client(HTTP_HOST=host).post(ASK, {"email": "ann@example.org"})
    assert answer.status_code == (400 if "evil" in host else 302)
    for letter in deliver():
        assert "http://testserver/accounts/password/" in letter.body
        assert not re.search(r"6666|testserver\./|TEST", f"{letter.subject}{letter.body}")


def test_the_broker_carries_no_secret_and_no_address(
    monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(current_app, "send_task", lambda *given, **more: sent.append((given, more)))
    User.objects.create_user("ann", "ann@example.org", "old secret words")
    with django_capture_on_commit_callbacks(execute=True):
        ask(Client(), "ann@example.org")
    (waiting,) = OutgoingMail.objects.all()
    assert sent == [(("accounts.mail",), {"args": [waiting.pk], "ignore_result": True})]
    assert "accounts.mail" in app.tasks
    assert app.conf.task_routes["accounts.mail"] == {"queue": "files"}


def test_a_link_ends_if_the_clock_was_ahead_when_it_was_made(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = User.objects.create_user("ann", "ann@example.org", "old secret words")
    now = datetime.now()
    with monkeypatch.context() as patched:
        patched.setattr(ResetTokens, "_now", lambda _: now + timedelta(days=400))
        token = reset_tokens.make_token(user)
        assert reset_tokens.check_token(user, token)
    assert not reset_tokens.check_token(user, token)
    address = f"{ASK}{urlsafe_base64_encode(str(user.pk).encode())}/{token}/"
    assert "This link has expired" in client.get(address, follow=True).content.decode()


def test_too_many_requests_are_refused_before_a_mailbox_is_flooded(settings: Any) -> None:
    settings.DPGEO_PASSWORDS_AN_HOUR = 5
    User.objects.create_user("ann", "ann@example.org", "old secret words")
    pages = {ask(Client(), "Ann@example.org") for _ in range(5)}
    assert len(pages) == 1
    assert len(deliver()) == 3
    refused = Client().post(ASK, {"email": "ann@example.org"})
    assert refused.status_code == 429
    assert 0 < int(refused["Retry-After"]) <= 3600
    assert "Too many requests" in refused.content.decode()
    elsewhere = Client(REMOTE_ADDR="192.0.2.9")
    assert elsewhere.post(ASK, {"email": "bob@example.org"}).status_code == 302


@pytest.mark.parametrize(
    ("first", "second"), [("short", "short"), ("password1", "password1"), ("a b c d e", "other")]
)
def test_an_unsuitable_password_is_refused(client: Client, first: str, second: str) -> None:
    user = User.objects.create_user("ann", "ann@example.org", "old secret words")
    ask(client, "ann@example.org")
    match = re.search(r"(/accounts/password/\S+)", str(deliver()[0].body))
    assert match
    page = client.get(match[1], follow=True)
    typed = {"new_password1": first, "new_password2": second}
    answer = client.post(page.redirect_chain[-1][0], typed)
    assert "errorlist" in answer.content.decode()
    user.refresh_from_db()
    assert user.check_password("old secret words")


def test_the_secret_of_a_link_is_never_logged(
    client: Client, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("django.contrib.auth.views.PasswordResetConfirmView.get_user", fail)
    monkeypatch.setattr("dpgeo.pages.desk.members.find_invitation", fail)
    client.raise_request_exception = False
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(NoSecretLinks())
    logger = logging.getLogger("django.request")
    logger.addHandler(handler)
    try:
        assert client.get(f"{ASK}MQ/cafe12-secret/").status_code == 500
        assert client.get("/accounts/invitation/cafe12-secret/").status_code == 500
    finally:
        logger.removeHandler(handler)
    logged = capfd.readouterr().err
    assert "no_secret_links" in logging_settings()["handlers"]["stderr"]["filters"]
    assert "/accounts/password/..." in logged
    assert "/accounts/invitation/..." in logged
    assert "cafe12" not in logged
