"""The choice of a fixed sample of tests."""

from __future__ import annotations

from collections.abc import Sequence

LENGTHY = (
    "tests/conformance/test_mechanisms.py::test_its_margins_cover_as_often_as_they_say",
    "tests/statistical/test_empirical_epsilon.py::",
    "tests/statistical/test_gaussian_mechanisms.py::",
    "tests/unit/test_audit_record.py::test_everything_that_suites_import_is_hashed",
)
"""Beginnings of the names of tests that may take tens of seconds of the processor.

They are in no sample whose tests are chosen without regard to their files.
"""


def sample(names: Sequence[str], every: int, *, every_file: bool = False) -> list[bool]:
    """Return a mask of the named tests that are in a sample of one in `every`.

    Of the tests that are not `LENGTHY`, the sample contains the first and every `every`-th after
    it. If `every_file`, it contains the first test of each file instead, lengthy or not, and if
    these are fewer than one in `every`, as many of the others as are missing, at equal distances.
    """
    if not every_file:
        short = [number for number, name in enumerate(names) if not name.startswith(LENGTHY)]
        chosen = [False] * len(names)
        for number in short[::every]:
            chosen[number] = True
        return chosen
    files = [name.partition("::")[0] for name in names]
    chosen = [file not in files[:number] for number, file in enumerate(files)]
    others = [number for number, is_first in enumerate(chosen) if not is_first]
    missing = max(0, -(-len(names) // every) - sum(chosen))
    for number in range(missing):
        chosen[others[number * len(others) // missing]] = True
    return chosen
