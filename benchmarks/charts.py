"""Line charts as SVG, for the documentation.

A chart has a title and a description for people who hear it, and colours of its own for readers who
prefer a dark page. Successive curves also differ in their marks, not in colour alone; from the
seventh curve on, the lines are dashed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape

WIDTH, HEIGHT = 720, 380
LEFT, RIGHT, TOP, BOTTOM = 64, 276, 40, 44
INKS = ("#b0134f", "#00657a", "#8a5300", "#14202a", "#5b4db2", "#3d6b1f")
DARK_INKS = ("#ff8fb4", "#5cc8de", "#f0b45a", "#e8edef", "#b8aeff", "#a3d977")
DASHES = ("", "6 3", "2 3")

Points = Sequence[tuple[float, float]]
Place = Callable[[float], float]


def line_chart(
    title: str,
    across: str,
    curves: Mapping[str, Points],
    *,
    level: float | None = None,
    logarithmic: bool = False,
    from_zero: bool = True,
    spreads: Mapping[str, Sequence[float]] | None = None,
    note: str = "",
) -> str:
    """Return an SVG chart of named curves with a logarithmic horizontal axis.

    If `level` is given, it is marked by a dotted line. A `logarithmic` chart has a logarithmic
    vertical axis, too; all its values must be above 0. Other charts show 0, unless `from_zero` is
    false. `spreads` holds, for each point of a curve, how far an error bar extends above and below
    it. `note` is a line below the curves' names.
    """
    xs = sorted({x for points in curves.values() for x, _ in points})
    ys = [y for points in curves.values() for _, y in points]
    ys += [] if level is None else [level]
    ticks, place_y = _vertical(ys, logarithmic, from_zero)
    span = math.log(xs[-1] / xs[0]) or 1.0

    def place(x: float, y: float) -> tuple[float, float]:
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(x / xs[0]) / span, place_y(y)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'aria-labelledby="title description" '
        'font-family="Archivo, Helvetica, Arial, sans-serif" font-size="12">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="description">{escape(_described(across, curves))}</desc>',
        _style(),
        f'<rect class="page" width="{WIDTH}" height="{HEIGHT}"/>',
        f'<text x="{LEFT}" y="22" font-size="14" font-weight="600">{escape(title)}</text>',
    ]
    for value in ticks:
        y = place_y(value)
        parts.append(f'<path class="rule" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_number(value)}</text>'
        )
    for x in xs:
        right, _ = place(x, ticks[0])
        parts.append(f'<text x="{right:.1f}" y="{HEIGHT - 24}" text-anchor="middle">{x:g}</text>')
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 7}" text-anchor="middle">'
        f"{escape(across)}</text>"
    )
    if level is not None:
        y = place_y(level)
        parts.append(f'<path class="level" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
    for number, (name, points) in enumerate(curves.items()):
        ink = f'class="ink{number % len(INKS)}"'
        dash = f'stroke-dasharray="{DASHES[number // len(INKS) % len(DASHES)]}"'
        at = [place(x, y) for x, y in sorted(points)]
        for (x, y), spread in zip(points, (spreads or {}).get(name, ()), strict=False):
            right, top = place(x, y + spread)
            low = place(x, max(y - spread, ticks[0]))[1]
            parts.append(
                f'<path class="ink{number % len(INKS)}" d="M{right:.1f} {top:.1f}V{low:.1f}"/>'
            )
        line = "L".join(f"{x:.1f} {y:.1f}" for x, y in at)
        top, left = TOP + 8 + 20 * number, WIDTH - RIGHT + 14
        parts.append(f'<path {ink} {dash} d="M{line}"/>')
        parts.append(f'<path {ink} {dash} d="M{left} {top}h22"/>')
        parts += [f'<path {ink} d="{_mark(number, x, y)}"/>' for x, y in [*at, (left + 11, top)]]
        parts.append(f'<text x="{left + 30}" y="{top + 4}">{escape(name)}</text>')
    if note:
        parts.append(
            f'<text x="{WIDTH - RIGHT + 14}" y="{HEIGHT - 24}" font-size="11">{escape(note)}</text>'
        )
    return "\n".join([*parts, "</svg>\n"])


def _vertical(ys: Sequence[float], logarithmic: bool, from_zero: bool) -> tuple[list[float], Place]:
    """Return the ticks of the vertical axis, and a function from a value to its y coordinate."""
    height = HEIGHT - TOP - BOTTOM
    if logarithmic:
        bottom, top = math.floor(math.log10(min(ys))), math.ceil(math.log10(max(ys)))
        top = max(top, bottom + 1)
        return [
            10.0**power for power in range(bottom, top + 1)
        ], lambda y: HEIGHT - BOTTOM - height * (math.log10(y) - bottom) / (top - bottom)
    low, high = min(0.0, *ys) if from_zero else min(ys), max(ys)
    high = high if high > low else low + 1.0
    step = _step((high - low) / 4)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [
        each * step for each in range(first, last + 1)
    ], lambda y: HEIGHT - BOTTOM - height * (y - first * step) / ((last - first) * step)


def _step(least: float) -> float:
    """Return the smallest of 1, 2, 2.5 and 5 times a power of ten that is at least `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(each * power for each in (1, 2, 2.5, 5, 10) if each * power >= least * (1 - 1e-9))


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _mark(number: int, x: float, y: float) -> str:
    """Return the path of a curve's mark: a disc, a square, a triangle or a cross."""
    return (
        f"M{x - 2.5:.1f} {y:.1f}a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0 -5 0z",
        f"M{x - 3:.1f} {y - 3:.1f}h6v6h-6z",
        f"M{x:.1f} {y - 4:.1f}l4 7h-8z",
        f"M{x - 3:.1f} {y - 3:.1f}l6 6m0 -6l-6 6",
    )[number % 4]


def _described(across: str, curves: Mapping[str, Points]) -> str:
    """Return the first and the last value of every curve, in words."""
    return " ".join(_of_curve(across, name, sorted(points)) for name, points in curves.items())


def _of_curve(across: str, name: str, points: Points) -> str:
    (first, begin), (last, end) = points[0], points[-1]
    return f"{name}: {begin:.3g} at {across} {first:g}, {end:.3g} at {last:g}."


def _style() -> str:
    return (
        "<style>"
        + "".join(_rules("#fcfcfa", "#14202a", "#d6dcdb", INKS))
        + "@media (prefers-color-scheme: dark) {"
        + "".join(_rules("#14202a", "#e8edef", "#3a4852", DARK_INKS))
        + "}</style>"
    )


def _rules(page: str, text: str, rule: str, inks: Sequence[str]) -> Iterator[str]:
    yield f".page {{fill: {page}}} text {{fill: {text}}} path {{fill: none; stroke-width: 2}} "
    yield f".rule {{stroke: {rule}; stroke-width: 1}} "
    yield f".level {{stroke: {text}; stroke-width: 1; stroke-dasharray: 1 3}} "
    for number, ink in enumerate(inks):
        yield f".ink{number} {{stroke: {ink}}} "
