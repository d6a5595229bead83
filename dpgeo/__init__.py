"""Publication of differentially private maps from tables of locations."""

__version__ = "0.1.0"
