"""Django app for datasets, uploads, erasure and public layers.

It also records warnings that two datasets may hold the same people, and the owners' answers.
"""
