"""Django app of background jobs: leases, progress, public end times, and outages."""
