"""Generated place names with typing errors, which the site's own search must find."""

from __future__ import annotations

import random
from pathlib import Path

from benchmarks import ground
from benchmarks.generated_names import invented_places, mistyped
from dpgeo.ground import names
from dpgeo.ground.words import fold, is_near


def test_a_mistyped_name_has_one_error() -> None:
    rng = random.Random(2)  # noqa: S311 - invented names
    for name in ("Bahnhofgasse", "Rue de Lindenau", "Waldgatan"):
        for _ in range(50):
            typed, words = fold(mistyped(name, rng)).split(), fold(name).split()
            assert len(typed) == len(words)
            wrong = [pair for pair in zip(typed, words, strict=True) if pair[0] != pair[1]]
            assert len(wrong) <= 1
            assert all(is_near(*pair) for pair in wrong)


def test_names_with_an_error_are_among_the_first_five(tmp_path: Path) -> None:
    rng = random.Random(3)  # noqa: S311 - invented names
    places = list(invented_places(3000, rng))
    path = tmp_path / "names.sqlite"
    names.build(path, places, "invented")
    wrong = [(mistyped(name, rng), name) for name in ground.forgivable(places, rng)]
    figures = ground.found_despite_errors(path, wrong)
    assert float(figures["found_in_100"]) >= ground.LEAST_FOUND, figures
