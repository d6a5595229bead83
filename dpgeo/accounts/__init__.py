"""Organisations, roles and user accounts (Django app)."""
