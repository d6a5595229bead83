"""Django app of background jobs: leases, progress, public times, outages."""
