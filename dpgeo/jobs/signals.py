"""Signals about jobs, for other apps."""

from django.dispatch import Signal

job_failed = Signal()
"""Sent with `job_id`, in the transaction that marks a job as failed or cancelled."""
