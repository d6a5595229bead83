"""Line charts as SVG, for the documentation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 64, 196, 40, 44
INKS = ("#b0134f", "#00657a", "#8a5300", "#14202a", "#378da2", "#7a868e")
DASHES = ("", "6 3", "2 3")

Points = Sequence[tuple[float, float]]


def line_chart(
    title: str, across: str, curves: Mapping[str, Points], *, level: float | None = None
) -> str:
    """Return an SVG chart of named curves with a logarithmic horizontal axis.

    If `level` is given, it is marked by a dotted line.
    """
    xs = sorted({x for points in curves.values() for x, _ in points})
    ys = [y for points in curves.values() for _, y in points] + ([level] if level else [])
    low, high = min(0.0, *ys), max(ys) * 1.05 or 1.0

    def place(x: float, y: float) -> tuple[float, float]:
        span = math.log(xs[-1] / xs[0]) or 1.0
        right = LEFT + (WIDTH - LEFT - RIGHT) * math.log(x / xs[0]) / span
        return right, HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (y - low) / (high - low)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="Archivo, Helvetica, Arial, sans-serif" font-size="12" fill="#14202a">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fcfcfa"/>',
        f'<text x="{LEFT}" y="22" font-size="14" font-weight="600">{escape(title)}</text>',
    ]
    for step in range(5):
        value = low + (high - low) * step / 4
        _, y = place(xs[0], value)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#d6dcdb"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:.3g}</text>')
    for x in xs:
        right, _ = place(x, low)
        parts.append(f'<text x="{right:.1f}" y="{HEIGHT - 24}" text-anchor="middle">{x:g}</text>')
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 7}" text-anchor="middle">'
        f"{escape(across)}</text>"
    )
    if level is not None:
        _, y = place(xs[0], level)
        parts.append(
            f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#14202a" stroke-dasharray="1 3"/>'
        )
    for number, (name, points) in enumerate(curves.items()):
        ink, dash = INKS[number % len(INKS)], DASHES[number % len(DASHES)]
        line = "L".join("{:.1f} {:.1f}".format(*place(x, y)) for x, y in sorted(points))
        stroke = f'stroke="{ink}" stroke-width="2" stroke-dasharray="{dash}" fill="none"'
        top = TOP + 8 + 20 * number
        left = WIDTH - RIGHT + 14
        parts.append(f'<path d="M{line}" {stroke}/>')
        parts.append(f'<path d="M{left} {top}h22" {stroke}/>')
        parts.append(f'<text x="{left + 30}" y="{top + 4}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>\n"])
