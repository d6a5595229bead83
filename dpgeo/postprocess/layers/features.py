"""Features of layers: how maps draw them, and what pages call them."""

from __future__ import annotations

from dataclasses import dataclass

from dpgeo.phrases import translatable, translatable_plural


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """What the features of a layer are.

    `look` is the key of their renderer in `frontend/src/layers/registry.ts`. With `counts`, their
    values are counts that add up, and the other fields are texts: `one` heads the column of their
    names, `largest` their ranking, and `people` or `visits` their sum. `standing` is a sentence on
    how many features stand out from the noise. `bounded` is a sentence, in singular and plural, on
    the number of features to which a privacy unit adds at most 1 each; None where the contribution
    bound is of another kind.
    """

    look: str
    counts: bool = False
    one: str = ""
    largest: str = ""
    people: str = ""
    visits: str = translatable("Visits in the study area")
    standing: str = ""
    bounded: tuple[str, str] | None = None


CELLS = Features(
    look="heatmap",
    counts=True,
    people=translatable("People, added up over all cells"),
    standing=translatable("{standing} of {size} cells of {cell} stand out from the noise."),
    bounded=translatable_plural(
        "Counts as bounded: each {unit} adds 1 to at most {bound} cell.",
        "Counts as bounded: each {unit} adds 1 to at most {bound} cells.",
    ),
)

ZONES = Features(
    look="zones",
    counts=True,
    one=translatable("Zone"),
    largest=translatable("The largest zones"),
    people=translatable("People, added up over all zones"),
    visits=translatable("Visits in all zones"),
    standing=translatable("{standing} of {size} zones stand out from the noise."),
    bounded=translatable_plural(
        "Counts as bounded: each {unit} adds 1 to at most {bound} zone.",
        "Counts as bounded: each {unit} adds 1 to at most {bound} zones.",
    ),
)

CLUSTERS = Features(
    look="clusters",
    counts=True,
    one=translatable("Cluster"),
    largest=translatable("The largest clusters"),
    people=translatable("People, added up over all clusters"),
    standing=translatable("{standing} of {size} clusters stand out from the noise."),
)

CONTOURS = Features(look="contours")

POINTS = Features(look="points")
