"""The share of the slowest test files that one run of the checks contains.

A fifth of the files takes its turn with each commit, so that five commits in a row run them all.
Files that name a module which has changed since the last tag are always run.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def files_in_turn(
    files: Sequence[Path], share: int, turn: int, changed: Collection[Path]
) -> set[Path]:
    """Return one in `share` of the files, and those that are among `changed` or name one of them.

    `turn` is any whole number; `share` numbers in a row choose every file once.
    """
    chosen = {file for number, file in enumerate(sorted(files)) if number % share == turn % share}
    names = re.compile("|".join(map(_mention, sorted(changed))) or "(?!)")
    return chosen | {
        file for file in files if file in changed or names.search((ROOT / file).read_text())
    }


def _mention(path: Path) -> str:
    """Return a pattern that matches an import or the dotted name of the module at `path`."""
    package, name = re.escape(".".join(path.parent.parts)), re.escape(path.stem)
    return rf"\b{package}\.{name}\b|\bfrom {package} import [^\n]*\b{name}\b"


def commit_count() -> int:
    """Return the number of commits that led to this state; 0 outside a repository."""
    return int(_git("rev-list", "--count", "HEAD") or 0)


def changed_since_tag() -> set[Path]:
    """Return the Python files that differ from the last tag; none before there is a tag."""
    tag = _git("describe", "--tags", "--abbrev=0").strip()
    return set(map(Path, _python_files(_git("diff", "--name-only", tag)))) if tag else set()


def _python_files(names: str) -> Iterable[str]:
    return (name for name in names.splitlines() if name.endswith(".py"))


def _git(*words: str) -> str:
    try:
        done = subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""
