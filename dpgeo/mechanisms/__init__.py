"""Mechanisms, one file each, and their registry; none imports another."""
