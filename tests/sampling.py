"""The choice of a fixed sample of the tests in each file."""

from __future__ import annotations

from collections.abc import Iterable


def sample(names: Iterable[str], every: int) -> list[bool]:
    """Return a mask of the named tests that are in a sample of one in `every`.

    From each file, the sample contains the first test and every `every`-th test after it, so that
    no file is left out.
    """
    numbers: dict[str, int] = {}
    chosen = []
    for name in names:
        file = name.partition("::")[0]
        chosen.append(numbers.get(file, 0) % every == 0)
        numbers[file] = numbers.get(file, 0) + 1
    return chosen
