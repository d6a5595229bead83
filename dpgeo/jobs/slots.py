"""Public times at which API keys learn that a job has ended.

How long a job takes, and whether it fails, may depend on the private data: on how many rows a file
has, on memory, on a machine that breaks down. Asking for a job's state costs no epsilon and can be
repeated without end. So its end is shown only at the first of some times that were fixed when the
job was submitted: 1, 5, 15 and 60 minutes after that, then every full hour. Which of them it is
tells the size class of the data, and nothing finer.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from django.conf import settings


def slot_of(submitted: datetime, ended: datetime) -> datetime:
    """Return the first public time, counted from `submitted`, that is not before `ended`.

    Without slots (DPGEO_JOB_SLOTS is empty) that is `ended` itself.
    """
    slots = [timedelta(minutes=each) for each in settings.DPGEO_JOB_SLOTS]
    if not slots:
        return ended
    taken = ended - submitted
    for slot in slots:
        if taken <= slot:
            return submitted + slot
    return submitted + timedelta(hours=math.ceil(taken / timedelta(hours=1)))
