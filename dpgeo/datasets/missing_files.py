"""Record of stored files that rows name but that their storage does not have.

Whoever opens such a file, be it a page, a job or a backup, records its name. The reaper tells the
operator by mail and webhook (`releases.alerts`), and forgets the file once it is back.

Privacy argument. A name consists of random ids and of the names of a release's public layers, and
is shown to operators alone.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import suppress

from django.db import DatabaseError, transaction

from dpgeo.datasets.models import MissingFile

logger = logging.getLogger(__name__)


def missing_file_record(name: str, *, public: bool) -> None:
    """Record that a stored file is missing.

    The failure to record it, for instance in a database that is read-only, is no error.
    """
    with suppress(DatabaseError), transaction.atomic():
        _, is_new = MissingFile.objects.get_or_create(name=name, public=public)
        if is_new:
            logger.error("The stored file %s is missing; restore it from a backup", name)


def missing_files_record(files: Iterable[tuple[bool, str]]) -> None:
    """Record files that are missing: whether each belongs to the public storage, and its name."""
    for public, name in files:
        missing_file_record(name, public=public)
