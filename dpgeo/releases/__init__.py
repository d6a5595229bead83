"""Releases, the only users of production noise (Django app)."""
