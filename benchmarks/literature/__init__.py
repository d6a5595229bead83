"""Published mechanisms, written from their papers to be compared with dpgeo's own.

Each module contains one family of mechanisms and says why it is private, or why it is not. Noise is
drawn in floating point from a seed, so these mechanisms must not be used outside benchmarks.
"""
