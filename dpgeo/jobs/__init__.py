"""Leases, progress and reaper of background jobs (Django app)."""
