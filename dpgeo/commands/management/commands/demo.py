"""`python manage.py demo`: publish maps of invented people through the usual pipeline."""

from __future__ import annotations

import secrets
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from dpgeo.accounts.models import User
from dpgeo.commands.console import plain_errors
from dpgeo.commands.demo import Demo, make_user


class Command(BaseCommand):
    help = (
        "Publishes maps of invented people on real streets. A second call does only what is "
        "missing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--people", type=int, default=40_000)

    def handle(self, *args: Any, people: int, **options: Any) -> None:
        owner, steward = make_user("admin", superuser=True), make_user("steward")
        logins = fresh_logins(owner, steward)
        with plain_errors({}):
            demo = Demo(owner, steward, people, self.stdout)
            # Print the passwords now, so that the desk can be tried while the maps are made.
            if logins:
                self._tell(logins)
            demo.publish()
        # Print the passwords again, because the first print has scrolled away by now.
        self._tell(logins)

    def _tell(self, logins: dict[str, str]) -> None:
        """Print the passwords of new accounts."""
        if not logins:
            self.stdout.write(
                "  Sign in as admin or steward, with the passwords of the first start "
                "(`manage.py changepassword admin` sets another)."
            )
            return
        self.stdout.write(
            "\n  Sign in at /desk/ (keep these: they are shown by the first start only;\n"
            "  `manage.py changepassword NAME` sets another):\n"
        )
        for name, password in logins.items():
            self.stdout.write(f"    {name:9s} {password}")
        self.stdout.write("")


def fresh_logins(*users: User) -> dict[str, str]:
    """Give each account without a password one, and return the passwords by user name."""
    logins: dict[str, str] = {}
    for user in users:
        if not user.has_usable_password():
            logins[user.username] = secrets.token_urlsafe(12)
            user.set_password(logins[user.username])
            user.save(update_fields=["password"])
    return logins
