"""Campaigns of tasks, planned on public releases and never on private data."""
