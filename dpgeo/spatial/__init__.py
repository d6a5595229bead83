"""Public geometry: study areas, grids and projections."""
