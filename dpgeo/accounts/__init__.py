"""Organisations, roles and the people who sign in (Django app)."""
