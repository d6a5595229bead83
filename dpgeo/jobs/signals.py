"""What other apps may want to hear of a job."""

from django.dispatch import Signal

job_failed = Signal()
"""Sent with `job_id`, in the transaction in which a job fails for good or is cancelled."""
