"""Shapes are prepared in one module only; the test searches the source of all of dpgeo."""

from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_no_other_module_prepares_shapes() -> None:
    """Any shape may be shared by threads, so only copies are prepared."""
    callers = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "dpgeo").rglob("*.py")
        if "shapely.prepare(" in path.read_text()
    ]
    assert callers == ["dpgeo/spatial/prepared.py"]
