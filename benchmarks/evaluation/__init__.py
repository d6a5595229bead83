"""Error against the truth, for tests and benchmarks alone; no screen shows it."""
