"""Comparisons by task: published systems and dpgeo's own on common data."""
