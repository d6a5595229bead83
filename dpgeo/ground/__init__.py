"""Basemaps (the ground under maps): streets, water and names from OpenStreetMap extracts.

Everything here is public and independent of any dataset.
"""
