"""Themes of data portals, from the EU Publications Office's data-theme vocabulary.

DCAT-AP asks for at least one theme. Owners choose from the list, because portals sort by theme.
"""

from __future__ import annotations

from dpgeo.phrases import translatable

VOCABULARY = "http://publications.europa.eu/resource/authority/data-theme"

THEMES: dict[str, str] = {
    "AGRI": translatable("Agriculture, fisheries, forestry and food"),
    "ECON": translatable("Economy and finance"),
    "EDUC": translatable("Education, culture and sport"),
    "ENER": translatable("Energy"),
    "ENVI": translatable("Environment"),
    "GOVE": translatable("Government and public sector"),
    "HEAL": translatable("Health"),
    "INTR": translatable("International issues"),
    "JUST": translatable("Justice, legal system and public safety"),
    "REGI": translatable("Regions and cities"),
    "SOCI": translatable("Population and society"),
    "TECH": translatable("Science and technology"),
    "TRAN": translatable("Transport"),
}
"""English titles of the themes, by code."""


def theme_url(code: str) -> str:
    """Return the URL of the theme with this code."""
    return f"{VOCABULARY}/{code}"
