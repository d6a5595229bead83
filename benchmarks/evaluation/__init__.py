"""Measures of error against the truth, only for tests and benchmarks."""
