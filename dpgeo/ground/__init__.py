"""Ground under maps: streets, water and names from OpenStreetMap extracts.

Everything here is public, and none of it depends on a dataset.
"""
