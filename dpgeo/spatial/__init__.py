"""Geometry that is public: the study area, grids and projections. No noise, no private data."""
