"""The fixed sample of tests from suites that `.ci/run` does not run in full."""

from tests.sampling import sample


def test_a_sample_leaves_out_no_file() -> None:
    names = [f"f.py::test_a[{number}]" for number in range(25)]
    names += [
        "f.py::test_b",
        "g.py::test_a[0]",
    ]
    chosen = [name for name, is_in in zip(names, sample(names, 10), strict=True) if is_in]
    assert chosen == [
        *("f.py::test_a[0]", "f.py::test_a[10]", "f.py::test_a[20]"),
        "g.py::test_a[0]",
    ]
