"""Django app of background jobs: leases, progress, times shown to keys, outages."""
