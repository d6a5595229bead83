"""Audit of epsilon with power: real files, the product's engine, and planted faults."""
