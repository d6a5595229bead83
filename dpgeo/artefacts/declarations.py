"""Provenance of a release's public layers and study area.

A release stores it as JSON texts in `Released.about`, so that its statement and its page always say
the same. It states only what the software can know: whether a layer was declared before the first
upload, and whether the software itself made it from a published release. A public source is quoted
as the publisher named it. Releases drawn before version 0.2 have no such texts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dpgeo.artefacts.statement_schema import AreaExchange, LayerUsed
from dpgeo.core.released import Released
from dpgeo.phrases import Phrase, translatable

LAYERS = "public_layers"
EXCHANGE = "study_area_exchange"

BEFORE = translatable(
    "Declared on {day}, before any file was uploaded to this dataset, or to one that shares its "
    "budget. What its publisher knew of the data by then, the software cannot know."
)
AFTER = translatable(
    "Declared on {day}, after a file was uploaded to this dataset, or to one that shares its "
    "budget."
)
UNKNOWN = translatable(
    "Declared on {day}; whether a file had been uploaded by then was not recorded."
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
"""Sentence on what the guarantee does not hide, for layers that may depend on the data."""

EXCHANGED = translatable(
    "After a file had been uploaded, and before its columns were confirmed, the study area was "
    "exchanged for another named place (times: {times}), last on {day}: {place}, with the outline "
    "of {name}, {url}, of {date}, as its publisher says."
)


def layers_used(released: Released) -> list[LayerUsed] | None:
    """Return the public layers that a release used; None if it was drawn before version 0.2."""
    text = released.about.get(LAYERS)
    if text is None:
        return None
    meant: Any = [
        {**layer, "meaning": " ".join(map(str, layer_words(layer)))} for layer in json.loads(text)
    ]
    used: list[LayerUsed] = meant
    return used


def layer_words(layer: Mapping[str, Any]) -> list[Phrase]:
    """Return sentences on the declaration and the provenance of a layer."""
    before = layer["declared_before_upload"]
    order = UNKNOWN if before is None else BEFORE if before else AFTER
    declared = Phrase(order, day=layer["declared_on"])
    if release := layer["release"]:
        nested = [Phrase(USED_LAYERS)] if release["used_layers"] else []
        return [declared, _from_release(release), *nested]
    source = layer["public_source"]
    named = Phrase(SOURCE, **source) if source else Phrase(NO_SOURCE)
    return [declared, named] if before else [declared, named, Phrase(NO_CLAIM)]


def _from_release(release: Mapping[str, Any]) -> Phrase:
    """Return the sentence on the release from which a layer was made, and on its cost."""
    facts = {"title": release["title"], "release": release["id"], "cost": release["cost"]}
    if release["same_budget"]:
        return Phrase(SAME_BUDGET, **facts)
    return Phrase(OTHER_BUDGET, **facts, dataset=release["dataset"], total=release["total"])


def not_covered(released: Released) -> list[str]:
    """Return a sentence on what public layers may reveal about the data, in a list.

    The list is empty if every layer was made from a release that used no layers itself.
    """
    layers = json.loads(released.about.get(LAYERS, "[]"))
    paid_for = [layer["release"] and not layer["release"]["used_layers"] for layer in layers]
    return [] if all(paid_for) else [NOT_COVERED]


def area_exchange(released: Released) -> AreaExchange | None:
    """Return the facts of a change of the study area after the first upload; None if none."""
    text = released.about.get(EXCHANGE)
    if text is None:
        return None
    facts = json.loads(text)
    stated: Any = {**facts, "meaning": str(exchange_words(facts))}
    exchange: AreaExchange = stated
    return exchange


def exchange_words(exchange: Mapping[str, Any]) -> Phrase:
    """Return the sentence on a change of the study area."""
    return Phrase(
        EXCHANGED,
        place=exchange["place"],
        day=exchange["on"],
        times=exchange["times"],
        **exchange["source"],
    )
