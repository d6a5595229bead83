"""Who acts when a command is run on the console."""

from __future__ import annotations

from dpgeo.accounts.models import User
from dpgeo.core.errors import InvalidInput


def acting_user(name: str) -> User | None:
    """The user named on the command line; None for the operator, who may do everything."""
    if not name:
        return None
    user = User.objects.filter(username=name, is_active=True).first()
    if user is None:
        raise InvalidInput("There is no active user {name!r}.", name=name, field="user")
    return user
