"""Provenance of a release's public layers and study area.

A release stores its provenance as JSON texts in `Released.about`, so its statement and its page
always agree. The provenance states only what the software can know: whether a layer was declared
before the first upload, and whether the software itself made the layer from a published release. A
public source is quoted as the publisher named it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dpgeo.artefacts.statement_schema import AreaExchange, AreaSeen, LayerUsed
from dpgeo.core.released import Released
from dpgeo.phrases import Phrase, translatable

LAYERS = "public_layers"
EXCHANGE = "study_area_exchange"
CHOICE = "study_area_choice"
SEEN = "study_area_seen"

BEFORE_UPLOAD = "declared_before_upload"
"""Key, in a release's facts on the choice of its study area, that is true if no file about the
people in the data had been uploaded when the area was chosen.
"""

BEFORE = translatable(
    "Declared on {day}, before any file was uploaded to this dataset, or to one that shares its "
    "budget. What its publisher knew of the data by then, the software cannot know."
)
AFTER = translatable(
    "Declared on {day}, after a file was uploaded to this dataset, or to one that shares its "
    "budget."
)

SOURCE = translatable(
    "Taken from a public source, as its publisher says: {name}, {url}, of {date}. The software "
    "has not compared the two."
)
NO_SOURCE = translatable("No source was named.")
NO_CLAIM = translatable("Whether it follows the data is not known.")

SAME_BUDGET = translatable(
    "Made by the software from a published release of the same people, {title} ({release}). It "
    "follows their data through that release alone, whose cost, {cost}, is part of their total."
)
OTHER_BUDGET = translatable(
    "Made by the software from a published release of another dataset, {title} ({release}) of "
    "{dataset}. It follows those data through that release alone, which cost {cost} of a budget of "
    "its own, {total} in all. For people who are in both datasets the two budgets add up."
)

USED_LAYERS = translatable(
    "That release used public layers itself; its statement says where they come from."
)

NOT_COVERED = (
    "What a public layer itself gives away: the guarantee holds for what is drawn from the data "
    "whatever the layers are, and public_layers says what is known of where each comes from."
)
"""Sentence for statements: the guarantee does not cover public layers made from private data."""

EXCHANGED = translatable(
    "After a file had been uploaded, and before its columns were confirmed, the study area was "
    "exchanged for another named place (times: {times}), last on {day}: {place}, with the outline "
    "of {name}, {url}, of {date}, as its publisher says."
)

CHOSEN = translatable("Chosen as {place}, with the outline of {name}, {url}, of {date}.")
DRAWN = translatable("Drawn by hand.")

BEFORE_FILES = translatable(
    "That was before any file was uploaded to this dataset, or to one that shares its budget."
)
AFTER_FILES = translatable(
    "That was after a file was uploaded to a dataset that shares its budget."
)

WITHOUT_WATER = translatable(
    "Before any file was uploaded to this dataset, the software left out the sea and lakes of "
    "1 km² and more, but not the water along their shores, as known to {sources}. Ferries and "
    "bridges over them lie outside."
)

AREA_SEEN = translatable(
    "Before this study area was chosen, members of the publisher had opened files and seen their "
    "rows while other areas were set (areas: {areas}, last on {day}). Which files they were is not "
    "said; the area may follow from the data."
)


def layers_used(released: Released) -> list[LayerUsed]:
    """Return the public layers that a release used."""
    meant: Any = [
        {**layer, "meaning": " ".join(map(str, layer_words(layer)))}
        for layer in json.loads(released.about.get(LAYERS, "[]"))
    ]
    used: list[LayerUsed] = meant
    return used


def layer_words(layer: Mapping[str, Any]) -> list[Phrase]:
    """Return sentences on how a layer was declared and where it comes from."""
    before = layer["declared_before_upload"]
    declared = Phrase(BEFORE if before else AFTER, day=layer["declared_on"])
    if release := layer["release"]:
        nested = [Phrase(USED_LAYERS)] if release["used_layers"] else []
        return [declared, _from_release(release), *nested]
    source = layer["public_source"]
    named = Phrase(SOURCE, **source) if source else Phrase(NO_SOURCE)
    return [declared, named] if before else [declared, named, Phrase(NO_CLAIM)]


def _from_release(release: Mapping[str, Any]) -> Phrase:
    """Return the sentence that names the release a layer was made from, and its cost."""
    facts = {"title": release["title"], "release": release["id"], "cost": release["cost"]}
    if release["same_budget"]:
        return Phrase(SAME_BUDGET, **facts)
    return Phrase(OTHER_BUDGET, **facts, dataset=release["dataset"], total=release["total"])


def not_covered(released: Released) -> list[str]:
    """Return a list with the sentence on what public layers may reveal about the data.

    The list is empty if every layer was made from a release that itself used no layers.
    """
    layers = json.loads(released.about.get(LAYERS, "[]"))
    paid_for = [layer["release"] and not layer["release"]["used_layers"] for layer in layers]
    return [] if all(paid_for) else [NOT_COVERED]


def area_exchange(released: Released) -> AreaExchange | None:
    """Return the facts about a change of the study area after the first upload.

    Returns None if the study area was not changed.
    """
    facts = _exchange(released)
    if not facts:
        return None
    stated: Any = {**facts, "meaning": str(_exchanged(facts))}
    exchange: AreaExchange = stated
    return exchange


def area_seen(released: Released) -> AreaSeen | None:
    """Return what the organisation's members had seen of files before this study area was declared.

    `areas` is the number of other study areas, counted for each dataset that had one, under which
    they had opened files, and `on` the last day. Returns None if the release has no such record.
    """
    text = released.about.get(SEEN)
    if text is None:
        return None
    facts = json.loads(text)
    return {"areas": facts["areas"], "on": facts["on"], "meaning": str(_seen(facts))}


def choice_words(released: Released) -> list[Phrase]:
    """Return sentences on how the study area was first chosen; empty if that is unknown."""
    choice = json.loads(released.about.get(CHOICE, "{}"))
    order = BEFORE_FILES if choice.get(BEFORE_UPLOAD) else AFTER_FILES
    words = []
    if choice.get("drawn"):
        words += [Phrase(DRAWN), Phrase(order)]
    elif "place" in choice:
        words += [Phrase(CHOSEN, place=choice["place"], **choice["source"]), Phrase(order)]
    if sources := choice.get("without_water"):
        words.append(Phrase(WITHOUT_WATER, sources="; ".join(sources)))
    return words


def change_words(released: Released) -> list[Phrase]:
    """Return sentences on files opened before the study area was declared, and on area changes.

    The list is empty if no file was opened and the study area was not changed.
    """
    seen, exchange = json.loads(released.about.get(SEEN, "null")), _exchange(released)
    return [*([_seen(seen)] if seen else []), *([_exchanged(exchange)] if exchange else [])]


def _exchange(released: Released) -> dict[str, Any]:
    """Return the facts about a change of the study area, or {} if it was not changed."""
    facts: dict[str, Any] = json.loads(released.about.get(EXCHANGE, "{}"))
    return facts


def _seen(facts: Mapping[str, Any]) -> Phrase:
    return Phrase(AREA_SEEN, areas=facts["areas"], day=facts["on"])


def _exchanged(exchange: Mapping[str, Any]) -> Phrase:
    return Phrase(
        EXCHANGED,
        place=exchange["place"],
        day=exchange["on"],
        times=exchange["times"],
        **exchange["source"],
    )
