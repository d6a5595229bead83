"""Lease, progress and reaper for background work (Django app)."""
