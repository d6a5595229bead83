"""`python -m benchmarks SUBCOMMAND`; a file of this folder for each."""

from __future__ import annotations

import argparse
import sys

from benchmarks import (
    accuracy,
    bounding,
    coverage,
    crowdsourcing,
    geoind,
    geoind_picture,
    page,
    prilocation,
    prilocation_figure,
    serving,
    speed,
)
from dpgeo.core.errors import DpgeoError

SUBCOMMANDS = (
    accuracy,
    bounding,
    coverage,
    crowdsourcing,
    geoind,
    geoind_picture,
    page,
    prilocation,
    prilocation_figure,
    serving,
    speed,
)


def main(arguments: list[str]) -> int:
    """Run a subcommand; 0, or 2 when it was asked for something impossible."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    subcommands = parser.add_subparsers(required=True, metavar="SUBCOMMAND")
    for subcommand in SUBCOMMANDS:
        subcommand.add_to(subcommands)
    options = parser.parse_args(arguments)
    try:
        options.run(options)
    except (DpgeoError, ValueError, OSError) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
