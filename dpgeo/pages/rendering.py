"""Phrases and errors of other rooms, said in the page's language."""

from __future__ import annotations

from django.utils.translation import gettext

from dpgeo.core.errors import DpgeoError
from dpgeo.pages.templatetags.figures import in_language
from dpgeo.phrases import Phrase


def say(what: Phrase | DpgeoError) -> str:
    """The sentence with its values, in the page's language and with its separators."""
    phrase = what.phrase if isinstance(what, DpgeoError) else what
    return phrase.render(gettext, in_language)


def parameter_label(name: str) -> str:
    """The name of a mechanism's parameter on a page: "look_share" is "Look share"."""
    return gettext(name.replace("_", " ").capitalize())
