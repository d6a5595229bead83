"""Public geometry: study area, grids and projections."""
