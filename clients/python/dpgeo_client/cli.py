"""Command line `dpgeo-client list | get | plot` for the maps of a dpgeo site."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from dpgeo_client.catalogue import Catalogue
from dpgeo_client.errors import DpgeoError
from dpgeo_client.release import PREFERRED

PAGE = re.compile(r"(?:/[a-z]{2}(?:-[a-z]{2})?)?/(?:maps|embed|api/v1/releases)/([\w-]+)")
"""Matches the path of a map's page in any language, of its embeddable frame, or of its API
document.
"""


def main(words: Sequence[str] | None = None) -> int:
    """Run a command; return 0, or print an error to stderr and return 1."""
    given = _parser().parse_args(words)
    try:
        command = {"list": _list, "get": _get, "plot": _plot}[given.command]
        return command(given)
    except ModuleNotFoundError as error:
        sys.stderr.write(f"This needs {error.name}: pip install 'dpgeo-client[geo,plot]'\n")
    except (DpgeoError, LookupError, ValueError, OSError) as error:
        sys.stderr.write(f"{error}\n")
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dpgeo-client", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    lister = commands.add_parser("list", help="list the maps of a site")
    lister.add_argument("site", help="the site's address, such as http://127.0.0.1:8000")
    lister.add_argument("words", nargs="*", help="only maps with these words")
    lister.add_argument("--json", action="store_true", help="one JSON document a line")
    getter = commands.add_parser("get", help="save a map's files; every slice of a map by time")
    getter.add_argument("map", help="the address of the map's page")
    getter.add_argument("--format", default=PREFERRED, help=f"{PREFERRED} unless told")
    getter.add_argument("--layer", help="a layer; the measured one unless told")
    getter.add_argument("-o", "--folder", type=Path, default=Path(), help="where to save")
    plotter = commands.add_parser("plot", help="draw a map with its legend")
    plotter.add_argument("map", help="the address of the map's page")
    plotter.add_argument("--layer", help="a layer; the measured one unless told")
    plotter.add_argument("-o", "--out", type=Path, help="file (.png, .svg, .pdf)")
    return parser


def _list(given: argparse.Namespace) -> int:
    with Catalogue(given.site) as catalogue:
        releases = catalogue.search(" ".join(given.words))
    for release in releases:
        facts = release.facts
        parts = (
            release.page,
            facts["published_on"] or facts["state"],
            facts["cost"],
            facts["title"],
        )
        sys.stdout.write((json.dumps(facts) if given.json else "\t".join(parts)) + "\n")
    return 0


def _get(given: argparse.Namespace) -> int:
    site, release_id = read_address(given.map)
    given.folder.mkdir(parents=True, exist_ok=True)
    with Catalogue(site) as catalogue:
        release = catalogue.release(release_id)
        if given.layer is None:
            paths = release.download_all(given.folder, given.format)
        else:
            paths = [release.download(given.folder, given.format, given.layer)]
    sys.stdout.write("".join(f"{path}\n" for path in paths))
    return 0


def _plot(given: argparse.Namespace) -> int:
    import matplotlib

    matplotlib.use("agg")
    site, release_id = read_address(given.map)
    out = given.out or Path(f"{release_id}.png")
    with Catalogue(site) as catalogue:
        catalogue.release(release_id).plot(given.layer).savefig(out, dpi=150)
    sys.stdout.write(f"{out}\n")
    return 0


def read_address(text: str) -> tuple[str, str]:
    """Return a map's site and id from the URL of its page. Raises ValueError for other URLs."""
    parts = urlsplit(text)
    match = PAGE.match(parts.path)
    if parts.scheme not in {"http", "https"} or not parts.netloc or match is None:
        raise ValueError(f"{text!r} is no address of a map, such as https://site/maps/ID/.")
    return f"{parts.scheme}://{parts.netloc}", match[1]


if __name__ == "__main__":
    sys.exit(main())
