"""Django app of task campaigns, planned on public releases, never on private data."""
