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
        with plain_errors({}):
            Demo(owner, steward, people, self.stdout).publish()
        self._tell_logins(owner, steward)

    def _tell_logins(self, *users: User) -> None:
        """Give each new account a password and print it; it cannot be shown again."""
        fresh = [user for user in users if not user.has_usable_password()]
        if not fresh:
            return
        self.stdout.write("\n  Sign in (shown once; `manage.py changepassword NAME` sets another):")
        for user in fresh:
            password = secrets.token_urlsafe(12)
            user.set_password(password)
            user.save(update_fields=["password"])
            self.stdout.write(f"    {user.username:9s} {password}")
