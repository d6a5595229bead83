"""Named ground: streets, water and names that lie under maps, from OpenStreetMap extracts.

Everything here is public, and none of it depends on a dataset.
"""
