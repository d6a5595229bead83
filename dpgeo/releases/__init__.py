"""Releases: requested, drawn and published; the only use of production noise (Django app)."""
