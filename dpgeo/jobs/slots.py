"""Public times at which API keys learn that a job has ended.

The duration of a job, and whether it fails, may depend on the private data, for example through the
number of rows or the memory needed. Requests for a job's state cost no epsilon and can be repeated
without limit. So the end of a job is shown only at one of its public times, which were fixed when
it was submitted: 1, 5, 15 and 60 minutes later, then every full hour. The public time at which the
end is shown reveals the size of the data only roughly.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from django.conf import settings


def public_slot(submitted: datetime, ended: datetime) -> datetime:
    """Return the first public time at or after `ended`, for a job submitted at `submitted`.

    If the setting DPGEO_JOB_SLOTS is empty, this is `ended` itself.
    """
    slots = [timedelta(minutes=each) for each in settings.DPGEO_JOB_SLOTS]
    if not slots:
        return ended
    taken = ended - submitted
    for slot in slots:
        if taken <= slot:
            return submitted + slot
    return submitted + timedelta(hours=math.ceil(taken / timedelta(hours=1)))
