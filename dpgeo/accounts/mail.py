"""Check that this installation can send mail, which password resets need."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core import checks

WITHOUT_MAILBOX = {
    "django.core.mail.backends.console.EmailBackend",
    "django.core.mail.backends.dummy.EmailBackend",
}
"""Mail backends that deliver no mail. One writes to the log, which must not contain reset links."""


def sends_mail() -> bool:
    """Return whether this installation delivers mail to mailboxes."""
    return settings.EMAIL_BACKEND not in WITHOUT_MAILBOX


@checks.register(checks.Tags.security, deploy=True)
def check_mail(**_: Any) -> list[checks.CheckMessage]:
    """Warn if no mail can be sent, since members then cannot reset forgotten passwords."""
    if sends_mail():
        return []
    return [
        checks.Warning(
            "No mail server is named, so there is no page for forgotten passwords.",
            hint="Set DPGEO_EMAIL_URL, or set passwords with `manage.py changepassword`.",
            id="dpgeo.accounts.W001",
        )
    ]
