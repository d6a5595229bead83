"""Comparisons with the literature are printed, and written into pages of the documentation."""

from __future__ import annotations

import importlib.util
import json
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from benchmarks import __main__ as benchmarks
from benchmarks.literature import figures
from benchmarks.literature.runner import BLOCK, TASKS, table, write
from benchmarks.literature.trials import Options, line
from tests.requirements import need

HALF = Fraction(1, 2)
PAGES = Path(__file__).parents[4] / "docs" / "literature"


def test_a_comparison_prints_every_system_with_its_standard_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    need(importlib.util.find_spec("scipy"), "SciPy: make packages-full")
    assert benchmarks.main(["literature", "--task", "sizes", "--trials", "3", "--json"]) == 0
    lines = [json.loads(each) for each in capsys.readouterr().out.splitlines()]
    assert [each["source"] for each in lines] == ["Dwork et al. 2006", "Hay et al. 2010", "dpgeo"]
    assert all(each["size_error_se"] > 0 for each in lines)


def test_the_same_seed_gives_the_same_figures_and_another_gives_others() -> None:
    def errors(seed: int) -> list[object]:
        options = Options(epsilon=HALF, trials=2, seed=seed)
        return [each["size_error"] for each in TASKS["sizes"](options)]

    assert errors(1) == errors(1)
    assert errors(1) != errors(2)


def test_errors_are_means_with_the_standard_error_of_a_mean() -> None:
    values = iter([1.0, 3.0])
    options = Options(epsilon=HALF, trials=2, seed=0)
    summary = line("s", "w", lambda random: {"error": next(values)}, options)
    assert (summary["error"], summary["error_se"]) == (2.0, 1.0)


def test_tables_are_written_between_their_comments(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- table: sizes -->\nold\n<!-- end -->\nafter\n")
    rows = table([{"system": "s", "source": "w", "promise": "eps", "e": 2.0, "e_se": 0.5}])
    write(tmp_path, {"sizes": f"{rows}\n"})
    assert page.read_text() == (
        "before\n<!-- table: sizes -->\n"
        "| system | source | promise | e |\n| --- | --- | --- | --- |\n"
        "| s | w | eps | 2 ± 0.5 |\n<!-- end -->\nafter\n"
    )
    with pytest.raises(ValueError, match="boxes"):
        write(tmp_path, {"boxes": rows})


def test_a_table_of_a_files_data_has_a_place_of_its_own(tmp_path: Path) -> None:
    need(importlib.util.find_spec("scipy"), "SciPy: make packages-full")
    file, page = tmp_path / "city.npy", tmp_path / "page.md"
    np.save(file, np.arange(64 * 64).reshape(64, 64))
    page.write_text(
        "<!-- table: sizes -->\n<!-- end -->\n<!-- table: sizes city 0.5 -->\n<!-- end -->\n"
    )
    options = ["--task", "sizes", "--trials", "2", "--file", str(file), "--pages", str(tmp_path)]
    assert benchmarks.main(["literature", *options]) == 0
    text = page.read_text()
    assert text.startswith("<!-- table: sizes -->\n<!-- end -->\n")
    assert "--task sizes --file city.npy --epsilon 0.5 --trials 2" in text
    assert str(tmp_path) not in text


def test_every_place_for_a_table_is_filled() -> None:
    for page in PAGES.glob("*.md"):
        for block in BLOCK.finditer(page.read_text()):
            assert f"--task {block[2].partition(' ')[0]} " in block[0], block[2]


def test_a_file_is_refused_where_it_would_not_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    need(importlib.util.find_spec("scipy"), "SciPy: make packages-full")
    assert benchmarks.main(["literature", "--task", "streams", "--file", "x.npy"]) == 2
    assert "--file is for ranges" in capsys.readouterr().err


def test_figures_are_read_aloud_and_seen_on_dark_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need(importlib.util.find_spec("scipy"), "SciPy: make packages-full")
    epsilons = [HALF, Fraction(1)]
    monkeypatch.setattr(figures, "EPSILONS", epsilons)
    folder = tmp_path / "figures"
    arguments = ["--task", "averages", "--trials", "2", "--figures", str(folder)]
    assert benchmarks.main(["literature", *arguments]) == 0
    text = (folder / "averages-rmse.svg").read_text()
    chart = ElementTree.fromstring(text)  # noqa: S314 - drawn a moment ago
    title, words = chart[0], chart[1]
    assert chart.get("aria-labelledby") == f"{title.get('id')} {words.get('id')}"
    options = Options(epsilon=HALF, trials=2, seed=0)
    for each in TASKS["averages"](options):
        assert f"{each['system']}: {each['rmse']:.3g} at epsilon 0.5" in (words.text or "")
    assert "prefers-color-scheme: dark" in text
    assert "2 trials, seed 0" in text
