"""The fixed samples of tests from suites that `.ci/run` does not run in full."""

from itertools import compress

from tests.sampling import LENGTHY, sample

NAMES = [
    *(f"f.py::test_a[{number}]" for number in range(25)),
    "f.py::test_b",
    *(f"g.py::test_a[{number}]" for number in range(5)),
]


def test_a_sample_of_every_file_leaves_out_no_file() -> None:
    assert list(compress(NAMES, sample(NAMES, 10, every_file=True))) == [
        *("f.py::test_a[0]", "f.py::test_a[1]", "f.py::test_a[15]"),
        "g.py::test_a[0]",
    ]
    assert list(compress(NAMES, sample(NAMES, 20, every_file=True))) == [
        *("f.py::test_a[0]", "g.py::test_a[0]")
    ]


def test_a_lengthy_test_is_in_no_sample_of_all() -> None:
    names = [f"{LENGTHY[0]}[{number}]" for number in range(12)]
    assert list(compress([*names, *NAMES], sample([*names, *NAMES], 10))) == list(
        compress(NAMES, sample(NAMES, 10))
    )


def test_a_sample_of_all_is_as_large_as_it_says() -> None:
    assert list(compress(NAMES, sample(NAMES, 10))) == [
        *("f.py::test_a[0]", "f.py::test_a[10]", "f.py::test_a[20]"),
        "g.py::test_a[4]",
    ]
