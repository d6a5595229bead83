"""Figures for docs/mechanisms/prilocation.md, drawn as SVG from benchmark results."""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

WIDTH, HEIGHT = 640, 380
LEFT, TOP, RIGHT, BOTTOM = 64, 16, 450, 330
LEAST, MOST = 0.001, 1.0

CLAIMS = {"claim: PriLocation, 80": 0.0239, "claim: plain DP": 0.0239 / (1 - 0.6914)}
"""Results that Zhu, Li, Zhou and Yu (2017) report for Flickr at epsilon 1."""

COLOURS = ("#0f5c5c", "#2a9d8f", "#7fc8a9", "#b0134f", "#8a5300", "#44525e", "#3b4cc0", "#9467bd")


def add_to(subcommands: Any) -> None:
    """Add the subcommand `prilocation-figure` to the command line."""
    parser = subcommands.add_parser("prilocation-figure", help=__doc__)
    parser.add_argument("lines", type=Path)
    parser.add_argument("target", type=Path, help="an .svg file")
    parser.set_defaults(run=draw)


def draw(options: argparse.Namespace) -> None:
    """Write the figure to the requested file."""
    lines = [json.loads(line) for line in options.lines.read_text().splitlines()]
    curves: dict[str, list[tuple[float, float]]] = defaultdict(list)
    levels: dict[str, float] = {}
    for line in lines:
        if "epsilon" not in line:
            levels[line["method"]] = line["de"]
            continue
        name = line["method"] + (f", {line['clusters']}" if "clusters" in line else "")
        curves[name].append((line["epsilon"], line["de"]))
        if line.get("clusters") == 80:
            curves["the same, fakes counted"].append((line["epsilon"], line["de_honest"]))
    options.target.write_text(_svg(curves, levels, lines[0]["data"]))


def _x(epsilon: float) -> float:
    return LEFT + (RIGHT - LEFT) * epsilon


def _y(error: float) -> float:
    share = math.log(max(error, LEAST) / LEAST) / math.log(MOST / LEAST)
    return BOTTOM - (BOTTOM - TOP) * share


def _svg(curves: dict[str, list[tuple[float, float]]], levels: dict[str, float], data: str) -> str:
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        *_axes(data),
    ]
    row = 0
    for name, points in curves.items():
        place = sorted(points)
        path = " ".join(f"{_x(epsilon):.1f},{_y(error):.1f}" for epsilon, error in place)
        colour = COLOURS[row % len(COLOURS)]
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [
            f'<circle cx="{_x(e):.1f}" cy="{_y(d):.1f}" r="3" fill="{colour}"/>' for e, d in place
        ]
        parts.append(_key(name, colour, row))
        row += 1
    for name, level in levels.items():
        colour = COLOURS[row % len(COLOURS)]
        parts.append(
            f'<line x1="{LEFT}" x2="{RIGHT}" y1="{_y(level):.1f}" y2="{_y(level):.1f}" '
            f'stroke="{colour}" stroke-dasharray="6 4"/>'
        )
        parts.append(_key(name, colour, row))
        row += 1
    for name, claim in CLAIMS.items():
        parts.append(
            f'<path d="M{_x(1) - 5} {_y(claim) - 5}l10 10m0 -10l-10 10" stroke="#14202a"/>'
            f'<text x="{_x(1) + 12}" y="{_y(claim) + 4:.1f}">{name}</text>'
        )
    return "\n".join([*parts, "</svg>\n"])


def _key(name: str, colour: str, row: int) -> str:
    y = TOP + 202 + 20 * row
    return (
        f'<rect x="{RIGHT + 16}" y="{y - 8}" width="12" height="8" fill="{colour}"/>'
        f'<text x="{RIGHT + 34}" y="{y}">{name}</text>'
    )


def _axes(data: str) -> list[str]:
    parts = [
        f'<line x1="{LEFT}" x2="{RIGHT}" y1="{_y(error):.1f}" y2="{_y(error):.1f}" '
        f'stroke="#ddd"/><text x="{LEFT - 8}" y="{_y(error) + 4:.1f}" text-anchor="end">'
        f"{error:g}</text>"
        for error in (0.001, 0.01, 0.1, 1.0)
    ]
    parts += [
        f'<text x="{_x(tenth / 10):.1f}" y="{BOTTOM + 16}" text-anchor="middle">'
        f"{tenth / 10:g}</text>"
        for tenth in range(0, 11, 2)
    ]
    middle = (LEFT + RIGHT) / 2
    parts.append(
        f'<text x="{middle}" y="{BOTTOM + 36}" text-anchor="middle">epsilon of one record ({data})'
        f'</text><text transform="translate(14 {(TOP + BOTTOM) / 2}) rotate(-90)" '
        'text-anchor="middle">distance error</text>'
    )
    return parts
