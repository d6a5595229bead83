"""Django app for datasets, uploads, erasure and public layers.

It also records which datasets are about the same people.
"""
