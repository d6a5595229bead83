"""Plots of layers, drawn by matplotlib in the site's colours."""

from __future__ import annotations

import math
import textwrap
from typing import Any

TIDE = ("#f1eab2", "#89d2a5", "#24afa4", "#038697", "#026082", "#023b6d", "#111b47")
"""The colour ramp of the site's map."""

NOISE, OUTLINE, INK, QUIET = "#d6dcdb", "#5d6b74", "#14202a", "#44525e"

VALUES = ("estimate", "from_people_per_km2")
"""Columns that colours can show: counts, or the density at which a contour's band begins."""

WIDE_RANGE = 20
"""If the largest coloured value is more than this many times the smallest, the scale is
logarithmic.
"""

SIDE_INCHES, MAX_CELLS_ACROSS = 6.4, 4


def draw(frame: Any, ax: Any = None) -> Any:
    """Draw a GeoDataFrame from `Release.to_geopandas`, and return the matplotlib figure.

    Raises ValueError if `ax` is given for several slices.
    """
    import matplotlib.pyplot as plt

    titles = list(dict.fromkeys(frame["slice"])) if "slice" in frame else [""]
    if ax is not None and len(titles) > 1:
        raise ValueError("A map by time needs axes for each slice; name a layer, or leave out ax.")
    if ax is not None:
        figure, places = ax.figure, [ax]
    else:
        figure, places = _places(plt, len(titles), _slope(frame))
    name = next((each for each in VALUES if each in frame), None)
    norm = _norm(frame, name)
    for title, place in zip(titles, places, strict=False):
        _draw_part(frame[frame["slice"] == title] if title else frame, place, name, norm)
        place.set_title(title, fontsize=10, color=INK)
        place.set_axis_off()
    if norm is not None:
        _key(figure, places, frame, name, norm)
    _words(figure, frame, name, alone=ax is None)
    return figure


def _slope(frame: Any) -> float:
    """Return the map's height divided by the map's width on the ground, clipped to [1/3, 1.5]."""
    west, south, east, north = frame.total_bounds
    wide = (east - west) * math.cos(math.radians((south + north) / 2))
    return min(1.5, max(1 / 3, (north - south) / wide)) if wide > 0 else 1.0


def _places(plt: Any, count: int, slope: float) -> tuple[Any, list[Any]]:
    """Return a figure and axes for `count` plots; unused axes are hidden."""
    across = min(count, MAX_CELLS_ACROSS)
    down = math.ceil(count / across)
    side = SIDE_INCHES if count == 1 else SIDE_INCHES / 2
    figure, grid = plt.subplots(
        down,
        across,
        squeeze=False,
        figsize=(max(side * across, SIDE_INCHES), side * slope * down + 0.8),
        layout="constrained",
    )
    places = list(grid.flat)
    for spare in places[count:]:
        spare.set_visible(False)
    return figure, places[:count]


def _values(frame: Any, name: str) -> Any:
    """Return the values (n,) that the colours of the column `name` represent.

    Counts are divided by the number of the grid's cells in each box, so that large boxes can be
    compared with small ones.
    """
    values = frame[name].astype(float)
    return values / frame["cells"] if name == "estimate" and "cells" in frame else values


def _stands_out(frame: Any) -> Any:
    """Return a mask of the features with counts that noise alone is unlikely to reach."""
    if "estimate" in frame and "threshold" in frame:
        return frame["estimate"] >= frame["threshold"]
    return frame.geometry.notna()


def _norm(frame: Any, name: str | None) -> Any:
    """Return the colour scale, which all slices share; None if nothing is coloured."""
    from matplotlib.colors import LogNorm, Normalize

    if name is None:
        return None
    seen = _values(frame, name)[_stands_out(frame)]
    if not len(seen):
        return None
    low, high = float(seen.min()), float(seen.max())
    if low > 0 and high > WIDE_RANGE * low:
        return LogNorm(low, high)
    return Normalize(min(low, 0.0), high if high > min(low, 0.0) else 1.0)


def _draw_part(frame: Any, place: Any, name: str | None, norm: Any) -> None:
    """Draw the features of one slice.

    Features whose counts may be only noise are drawn first, in grey, and the others on top of them.
    """
    from matplotlib.colors import LinearSegmentedColormap

    loud = _stands_out(frame)
    quiet = frame[~loud]
    size = {"markersize": 40 if len(frame) < 200 else 2}
    if len(quiet):
        quiet.plot(ax=place, color=NOISE, **_marked(quiet, size))
    if not len(frame[loud]):
        return
    shown = frame[loud]
    if norm is None:
        shown.plot(ax=place, color=TIDE[3], **_marked(shown, size))
        return
    ramp = LinearSegmentedColormap.from_list("tide", TIDE)
    values = _values(shown, str(name))
    shown.assign(value=values).plot(
        ax=place, column="value", cmap=ramp, norm=norm, **_marked(shown, size)
    )


def _marked(frame: Any, size: dict[str, Any]) -> dict[str, Any]:
    """Return the marker size if the features are points; other shapes do not accept a size."""
    return size if set(frame.geom_type) <= {"Point", "MultiPoint"} else {}


def _key(figure: Any, places: list[Any], frame: Any, name: str | None, norm: Any) -> None:
    """Draw the colour bar, which is the legend, beside the plots."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap

    ramp = LinearSegmentedColormap.from_list("tide", TIDE)
    bar = figure.colorbar(
        ScalarMappable(norm, ramp), ax=places, shrink=0.7, aspect=30, format="{x:,.10g}"
    )
    counted = frame.attrs.get("counted", "count")
    if name != "estimate":
        label = f"{counted} per km², from"
    elif "cells" in frame:
        label = f"{counted} per smallest cell"
    else:
        label = str(counted)
    bar.set_label(label, color=INK)
    bar.outline.set_visible(False)


def _words(figure: Any, frame: Any, name: str | None, *, alone: bool) -> None:
    """Write the title, what grey stands for, the margin of error, and the citation.

    Nothing is written unless `alone`: the figure contains only this plot.
    """
    if not alone:
        return
    facts = frame.attrs
    figure.suptitle(facts.get("title", ""), fontsize=14, color=INK, x=0.02, ha="left")
    notes = []
    if name == "estimate" and "threshold" in frame and not _stands_out(frame).all():
        notes.append("Grey: too few to tell from none.")
    if name == "estimate" and "margin" in frame and len(frame):
        low, high = frame["margin"].min(), frame["margin"].max()
        margin = f"±{high:,.0f}" if low == high else f"±{low:,.0f} to ±{high:,.0f}"
        notes.append(f"Counts have a margin of {margin} (95 %).")
    cited = facts.get("citation", "")
    licence = ", ".join(filter(None, [facts.get("licence"), facts.get("attribution")]))
    notes.append(f"{cited} {licence}.".strip() if licence else cited)
    letters = int(figure.get_figwidth() * 17)
    figure.supxlabel(
        textwrap.fill(" ".join(notes), letters), fontsize=7, color=QUIET, x=0.02, ha="left"
    )
