"""Leases, progress and public times of jobs; free space and outages (Django app)."""
