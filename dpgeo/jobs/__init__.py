"""Django app of background jobs: leases, progress, times shown to API keys, and outages."""
