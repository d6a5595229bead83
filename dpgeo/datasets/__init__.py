"""Datasets, uploads and who may see them (Django app)."""
