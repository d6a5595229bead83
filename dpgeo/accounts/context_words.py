"""Check of passwords against words that are easy to guess at this site.

Such words are the software's name, the site's host names, the names of the member's organisations,
and those in DPGEO_PASSWORD_WORDS. A password may contain them, but without them it has to be as
long as any password must be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

MIN_OTHER_CHARACTERS = 8
"""Least length of a password once all easily guessed words (`context_words`) are removed."""

MIN_WORD_LENGTH = 4
"""Length of the shortest words that are removed from a password before its length is checked.

Shorter ones, such as "www" or "of", stay.
"""


class ContextWordsValidator:
    """Refuses passwords made of words that belong to the site or to the member's organisations."""

    def validate(self, password: str, user: Any = None) -> None:
        """Raise ValidationError if a password is too short once easily guessed words are removed.

        `context_words` lists these words.
        """
        rest = password.casefold()
        for word in sorted({*context_words(user)}, key=len, reverse=True):
            rest = rest.replace(word, "")
        if len(rest) < MIN_OTHER_CHARACTERS <= len(password):
            raise ValidationError(
                _("This password is made of names of this site or your organisation."),
                code="password_of_context_words",
            )

    def get_help_text(self) -> str:
        """Return the help text, for password forms, about words that are easy to guess."""
        return _("Not the names of this site or your organisation alone.")


def context_words(user: Any) -> Iterator[str]:
    """Yield the words, in lower case, that are easy to guess for this user of this site."""
    texts = ["dpgeo", *settings.ALLOWED_HOSTS, *settings.DPGEO_PASSWORD_WORDS]
    if getattr(user, "pk", None):
        texts += user.memberships.values_list("organisation__name", flat=True)
    for text in texts:
        yield from (w for w in re.findall(r"\w+", text.casefold()) if len(w) >= MIN_WORD_LENGTH)
