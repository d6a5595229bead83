"""Datasets, uploads and the permissions to see them (Django app)."""
