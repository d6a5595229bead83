"""Signals about jobs, for other apps."""

from django.dispatch import Signal

job_failed = Signal()
"""Sent with `job_id`, in the transaction in which a job fails for good or is cancelled."""
