"""Campaigns of tasks, planned on public releases. Reads releases alone, never private data."""
