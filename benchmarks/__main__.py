"""Command line of the benchmarks; each subcommand is a module of this package."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from types import ModuleType

from benchmarks import (
    accuracy,
    answer_coverage,
    averages,
    bound_advice,
    bound_choice,
    bounding,
    costs,
    coverage,
    crowdsourcing,
    dense,
    firstmap,
    flows,
    geoind,
    geoind_picture,
    ground,
    growth,
    large_files,
    page,
    peer_speed,
    peers,
    places,
    prilocation,
    quartiles,
    scale,
    series,
    serving,
    speed,
    totals,
    weight,
    zcdp,
)
from benchmarks.literature import runner as literature
from dpgeo.core.errors import DpgeoError

SUBCOMMANDS = (
    accuracy,
    answer_coverage,
    averages,
    bound_advice,
    bound_choice,
    bounding,
    costs,
    coverage,
    crowdsourcing,
    dense,
    firstmap,
    flows,
    geoind,
    geoind_picture,
    ground,
    growth,
    large_files,
    literature,
    page,
    peer_speed,
    peers,
    places,
    prilocation,
    quartiles,
    scale,
    series,
    serving,
    speed,
    totals,
    weight,
    zcdp,
)

PACKAGES: dict[ModuleType, tuple[str, ...]] = {
    crowdsourcing: ("scipy",),
    dense: ("scipy",),
    firstmap: ("playwright",),
    geoind: ("scipy",),
    ground: ("playwright",),
    literature: ("scipy",),
    page: ("playwright",),
    peers: ("scipy",),
    prilocation: ("sklearn",),
    speed: ("opendp",),
}
"""Packages that each benchmark needs in addition to those of dpgeo itself."""


def check_packages(benchmark: ModuleType) -> None:
    """Raise ModuleNotFoundError if a package that the benchmark needs is not installed."""
    missing = [name for name in PACKAGES.get(benchmark, ()) if not importlib.util.find_spec(name)]
    if missing:
        raise ModuleNotFoundError(
            f"This benchmark needs {', '.join(missing)}; install the packages of the full tests "
            "with `make packages-full`."
        )


def main(arguments: list[str]) -> int:
    """Run a subcommand; return 0, or 2 after printing an error."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    subcommands = parser.add_subparsers(required=True, metavar="SUBCOMMAND")
    for subcommand in SUBCOMMANDS:
        subcommand.add_to(subcommands)
    options = parser.parse_args(arguments)
    try:
        check_packages(sys.modules[options.run.__module__])
        options.run(options)
    except (DpgeoError, ValueError, OSError, ModuleNotFoundError) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
