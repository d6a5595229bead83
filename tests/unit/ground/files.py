"""Paths of the basemap ("the ground") that comes with the project."""

from pathlib import Path

FOLDER = Path(__file__).resolve().parents[3] / "fixtures" / "ground"

TILES = FOLDER / "liechtenstein.pmtiles"

EXTRACT = FOLDER / "liechtenstein.osm.pbf"
