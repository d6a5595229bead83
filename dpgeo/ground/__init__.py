"""Basemaps: streets, water and names that are drawn under maps, from OpenStreetMap extracts.

Everything here is public and independent of any dataset.
"""
