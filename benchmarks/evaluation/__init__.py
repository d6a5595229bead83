"""Measures of error against the true counts, for tests and benchmarks only."""
