"""Datasets, uploads, erasure, public layers, and the same people in datasets (Django app)."""
