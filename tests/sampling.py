"""The choice of a fixed sample of tests."""

from __future__ import annotations

from collections.abc import Sequence


def sample(names: Sequence[str], every: int, *, every_file: bool = False) -> list[bool]:
    """Return which of the named tests are in a sample of one in `every`.

    The sample contains the first test and every `every`-th test after it. If `every_file` is true,
    the tests of each file are sampled separately, so that no file is left out.
    """
    numbers: dict[str, int] = {}
    chosen = []
    for name in names:
        file = name.partition("::")[0] if every_file else ""
        chosen.append(numbers.get(file, 0) % every == 0)
        numbers[file] = numbers.get(file, 0) + 1
    return chosen
