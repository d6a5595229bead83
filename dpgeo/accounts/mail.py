"""Whether this installation can send mail, without which passwords are not reset by mail."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core import checks

WITHOUT_MAILBOX = {
    "django.core.mail.backends.console.EmailBackend",
    "django.core.mail.backends.dummy.EmailBackend",
}
"""Ways to send mail that reach nobody, or the log, where a link to set a password must not be."""


def sends_mail() -> bool:
    """Whether mail reaches mailboxes."""
    return settings.EMAIL_BACKEND not in WITHOUT_MAILBOX


@checks.register(checks.Tags.security, deploy=True)
def check_mail(**_: Any) -> list[checks.CheckMessage]:
    """Warn that members who forget their passwords cannot set new ones by themselves."""
    if sends_mail():
        return []
    return [
        checks.Warning(
            "No mail server is named, so there is no page for forgotten passwords.",
            hint="Set DPGEO_EMAIL_URL, or set passwords with `manage.py changepassword`.",
            id="dpgeo.accounts.W001",
        )
    ]
