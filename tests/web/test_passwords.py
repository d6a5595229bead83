"""Password reset by email, which never reveals which addresses have an account."""

from __future__ import annotations

import logging
import re
import sys
from typing import Any

import pytest
from django.core import mail
from django.core.cache import caches
from django.test import Client

from dpgeo.accounts.models import User
from dpgeo.config.logs import NoSecretLinks, logging_settings
from tests.web.published import install, make_dataset, make_organisation

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
    (letter,) = mail.outbox
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
    assert len(mail.outbox) == 1


def test_too_many_requests_are_refused_before_a_mailbox_is_flooded(settings: Any) -> None:
    caches["throttle"].clear()
    settings.DPGEO_PASSWORDS_AN_HOUR = 5
    User.objects.create_user("ann", "ann@example.org", "old secret words")
    pages = {ask(Client(), "Ann@example.org") for _ in range(5)}
    assert len(pages) == 1
    assert len(mail.outbox) == 3
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
    match = re.search(r"(/accounts/password/\S+)", str(mail.outbox[0].body))
    assert match
    page = client.get(match[1], follow=True)
    typed = {"new_password1": first, "new_password2": second}
    answer = client.post(page.redirect_chain[-1][0], typed)
    assert "errorlist" in answer.content.decode()
    user.refresh_from_db()
    assert user.check_password("old secret words")


@pytest.mark.parametrize("backend", ["console", "dummy"])
def test_without_mail_there_is_no_page_for_forgotten_passwords(
    client: Client, settings: Any, backend: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """If the site cannot send email, it has no page for forgotten passwords.

    A link that sets a password would be lost or would end up in the log.
    """
    user = User.objects.create_user("ann", "ann@example.org", "old secret words")
    settings.EMAIL_BACKEND = f"django.core.mail.backends.{backend}.EmailBackend"
    assert client.get(ASK).status_code == 404
    assert client.post(ASK, {"email": user.email}).status_code == 404
    page = client.get("/accounts/login/").content.decode()
    assert ASK not in page
    assert "Whoever runs this site can set a new one" in page
    assert f'"{ASK}"' not in client.get(f"{ASK}MQ/x-y/").content.decode()
    assert "MQ" not in capsys.readouterr().out


def test_mail_is_sent_only_where_a_server_is_named() -> None:
    from dpgeo.config import settings as production

    assert production.EMAIL_BACKEND.endswith("dummy.EmailBackend")  # type: ignore[attr-defined]


def test_the_secret_of_a_link_is_never_logged(
    client: Client, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("django.contrib.auth.views.PasswordResetConfirmView.get_user", fail)
    monkeypatch.setattr("dpgeo.pages.desk.members.invitation_of", fail)
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


def test_pages_name_the_publishers_contact(client: Client) -> None:
    release = install(make_dataset())
    for address in (f"/maps/{release.pk}/", f"/maps/{release.pk}/privacy/"):
        assert 'href="mailto:example-city@example.org"' in client.get(address).content.decode()
    publisher = client.get(f"/api/v1/releases/{release.pk}").json()["publisher"]
    assert publisher["contact"] == "example-city@example.org"


def test_a_publisher_without_a_contact_names_none(client: Client) -> None:
    organisation = make_organisation()
    organisation.contact = ""
    organisation.save()
    release = install(make_dataset(organisation))
    assert "mailto:" not in client.get(f"/maps/{release.pk}/").content.decode()
