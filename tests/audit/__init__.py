"""Audit of epsilon by statistical attacks on real releases, with planted faults."""
