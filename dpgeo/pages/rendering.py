"""Phrases and errors as text in the page's language."""

from __future__ import annotations

from functools import cache
from gettext import translation

from django.conf import settings
from django.utils.translation import get_language, gettext, to_locale

from dpgeo.core.errors import DpgeoError
from dpgeo.core.release_request import ReleaseRequest
from dpgeo.pages.templatetags.figures import in_language
from dpgeo.phrases import Phrase


def say(what: Phrase | DpgeoError) -> str:
    """Format a phrase or an error in the page's language, with that language's separators."""
    phrase = what.phrase if isinstance(what, DpgeoError) else what
    return phrase.render(gettext, in_language)


def script_words() -> dict[str, str]:
    """Return the translations of texts in scripts, by English text; {} on English pages."""
    language = to_locale(get_language() or "en")
    return _catalogue_of_scripts(language)


@cache
def _catalogue_of_scripts(language: str) -> dict[str, str]:
    words: dict[str, str] = {}
    for folder in settings.LOCALE_PATHS:
        catalogue = translation("djangojs", folder, [language], fallback=True)
        words |= getattr(catalogue, "_catalog", {})
    return {text: said for text, said in words.items() if text}


def parameter_label(name: str) -> str:
    """Return the label of a mechanism's parameter, such as "Pilot share" for "pilot_share"."""
    return gettext(name.replace("_", " ").capitalize())


def option_rows(request: ReleaseRequest) -> list[tuple[str, str]]:
    """Return the label and the value of each option of a request that pages state in a list.

    Its days and which places are kept are stated in sentences.
    """
    return [
        (gettext(ReleaseRequest.model_fields[name].title or ""), value)
        for name, value in request.options().items()
        if name not in ("from_day", "to_day", "bounding")
    ]
