"""Facts about perturbed points for the public pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch

from dpgeo.artefacts.statement import cost_words
from dpgeo.core.noise import PlanarLaplace
from dpgeo.core.released import Content, PointsRelease, Released
from dpgeo.pages.largest_rows import Row, rows_of
from dpgeo.postprocess.layers import BoxLayer, Layer


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """How the points of a release were perturbed.

    Noise moves half of the points by less than `near` metres, and 95 % by less than `far` metres.
    If `padded`, some points stand for invented reports. If `placed`, every point was moved a second
    time, by remapping with a public prior.
    """

    points: int
    cost: str
    level: str
    radius: int
    padded: bool
    placed: bool
    near: float
    far: float
    noise: PlanarLaplace
    time: str
    attributes: str
    updates: int
    cell_metres: float
    rows: tuple[Row, ...]
    """The cells from which most of the points are estimated to come."""


@singledispatch
def describe_moved(
    content: Content, released: Released, drawn_layers: Sequence[Layer]
) -> Moved | None:
    """Return how the points of a release were perturbed; None for content without points."""
    return None


@describe_moved.register
def _moved(content: PointsRelease, released: Released, drawn_layers: Sequence[Layer]) -> Moved:
    noise = content.noise
    return Moved(
        points=len(content.longitude),
        cost=cost_words(released),
        level=str(released.parameters["level"]),
        radius=int(released.parameters["radius"]),
        padded=bool(content.padded),
        placed=bool(content.prior),
        near=noise.radius(0.5),
        far=noise.radius(0.95),
        noise=noise,
        time=str(released.parameters["time"]),
        attributes=", ".join(attribute.column for attribute in content.attributes),
        updates=content.updates,
        cell_metres=content.grid.ground_cell_metres,
        rows=rows_of(next(layer for layer in drawn_layers if isinstance(layer, BoxLayer))),
    )
