"""Signals about jobs, to which other apps can connect."""

from django.dispatch import Signal

job_failed = Signal()
"""Sent with `job_id`, in the transaction that marks a job as failed or cancelled."""
