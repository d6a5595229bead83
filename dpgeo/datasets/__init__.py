"""Django app for datasets, uploads, erasure and public layers.

It also records warnings and answers about datasets that may hold the same people.
"""
