"""Open-data licences and the URLs by which catalogues know them."""

from __future__ import annotations

import re
from functools import lru_cache

LICENCES: dict[str, str] = {
    "CC BY 4.0": "https://creativecommons.org/licenses/by/4.0/",
    "CC0 1.0": "https://creativecommons.org/publicdomain/zero/1.0/",
    "CC BY-SA 4.0": "https://creativecommons.org/licenses/by-sa/4.0/",
    "CC BY-NC 4.0": "https://creativecommons.org/licenses/by-nc/4.0/",
    "CC BY-NC-SA 4.0": "https://creativecommons.org/licenses/by-nc-sa/4.0/",
    "CC BY-ND 4.0": "https://creativecommons.org/licenses/by-nd/4.0/",
    "ODbL 1.0": "https://opendatacommons.org/licenses/odbl/1-0/",
    "ODC-By 1.0": "https://opendatacommons.org/licenses/by/1-0/",
    "PDDL 1.0": "https://opendatacommons.org/licenses/pddl/1-0/",
    "OGL-UK-3.0": "https://www.nationalarchives.gov.uk/doc/open-government-licence/version/3/",
    "dl-de/by-2-0": "https://www.govdata.de/dl-de/by-2-0",
    "dl-de/zero-2-0": "https://www.govdata.de/dl-de/zero-2-0",
}
"""The URL of each licence, by its usual short name."""


@lru_cache(maxsize=1024)
def licence_url(name: str) -> str:
    """Return the URL of a licence that an owner named, or "" if it is unknown.

    Spaces, hyphens and case do not matter: "cc-by-4.0" is the same as "CC BY 4.0". If the name is
    itself a URL, it is returned unchanged.
    """
    text = name.strip()
    if re.fullmatch(r"https?://[^\s<>\"{}|\\^`]+", text):
        return text
    return _KNOWN.get(_plain(text), "")


def _plain(name: str) -> str:
    return re.sub(r"[\s/_-]+", "", name).casefold()


_KNOWN = {_plain(name): url for name, url in LICENCES.items()}
_KNOWN["cc0"] = LICENCES["CC0 1.0"]
