"""Mechanisms, one file each, and their registry; no mechanism imports another."""
