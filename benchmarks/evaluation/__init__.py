"""Error measures against the truth, for tests and benchmarks alone."""
