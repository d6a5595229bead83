"""Published mechanisms, written from their papers to be compared with dpgeo's own.

Each module holds one family and says why it is private, or why it is not. Noise is drawn in
floating point from a seed, so nothing here is of use outside benchmarks.
"""
