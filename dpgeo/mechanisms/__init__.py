"""Mechanisms, one per file, and their registry; no mechanism imports another."""
