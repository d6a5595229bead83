"""Warnings that datasets on different budgets hold many of the same people.

Every confirmed file is compared with the organisation's datasets on other budgets, as the last step
of the job that reads the file. If files are added to a dataset, all of its files are compared
together, so that it makes no difference whether people arrive in one file or in many. Two things
are compared: the persons' hashes, decrypted in memory (`ingest.same_people`), and a keyed checksum
of the file. A warning names the other dataset but gives no number. Only members who may see the
private facts of both datasets see the warning.

What API keys see: if a file was confirmed while the organisation had another budget, a key's
requests for releases are refused until an approver has answered on the members' pages (the desk),
whatever the comparison found. Keys know anyway that a file was confirmed, and that there was
another budget. Members are refused only if something was found, and with the same words. How long
the comparison takes depends on the size of the organisation's files, not on what they have in
common.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from dpgeo.accounts.attempts import count_attempt
from dpgeo.accounts.models import Organisation, User
from dpgeo.accounts.selectors import may
from dpgeo.core.errors import Conflict, NotAllowed
from dpgeo.core.guarantees import Unit
from dpgeo.datasets.models import Dataset, PeopleAnswer, PeopleWarning, Upload, UploadState
from dpgeo.datasets.person_keys import hashing_key, organisation_key
from dpgeo.datasets.selectors import ready_upload
from dpgeo.datasets.snapshots import people_paths
from dpgeo.datasets.texts import clean_text
from dpgeo.datasets.versions import rows_of
from dpgeo.jobs.lease import JobLease
from dpgeo.phrases import Phrase

if TYPE_CHECKING:  # It loads heavy libraries, so functions import it when needed.
    from dpgeo.ingest.same_people import People

logger = logging.getLogger(__name__)

MAX_REASON_LENGTH = 2_000

BLOCK_BYTES = 1 << 20


def other_datasets(dataset: Dataset) -> QuerySet[Dataset]:
    """Return the datasets of the same organisation that do not share a dataset's budget."""
    return Dataset.objects.filter(organisation=dataset.organisation_id).exclude(
        ledger=dataset.ledger_id
    )


def open_warnings(dataset: Dataset) -> QuerySet[PeopleWarning]:
    """Return a dataset's unanswered warnings about datasets that still have another budget."""
    return dataset.people_warnings.filter(answer__isnull=True, other__in=other_datasets(dataset))


def count_confirmation(upload: Upload) -> None:
    """Count the confirmation of a file if the organisation has several budgets.

    Each confirmation can reveal whether two datasets have people in common, so the number of
    confirmations per hour is limited, except for the operator at the console. Raises Conflict if
    the limit is exceeded.
    """
    dataset = upload.dataset
    if upload.created_by_id is None or not other_datasets(dataset).exists():
        return
    limit: int = settings.DPGEO_CONFIRMATIONS_AN_HOUR
    who = f"confirmed files of {dataset.organisation_id}"
    if count_attempt(who, limit, window=3600) is not None:
        raise Conflict(
            "Your organisation has confirmed {limit} files within an hour; confirm this one later.",
            limit=limit,
        )


def people_ask(dataset: Dataset) -> bool:
    """Return whether API keys must wait for an approver if a file is confirmed now.

    The approver answers whether the file's people are also in other datasets. An answer is needed
    if the organisation has datasets on other budgets and no standing answer exists.
    """
    standing = dataset.people_answers.filter(standing=True).exists()
    return other_datasets(dataset).exists() and not standing


def check_answered(dataset: Dataset, by: User | None) -> None:
    """Raise Conflict if an approver must answer before `by` may request a release.

    The approver has to answer whether other datasets hold the same people. `by` is None at the
    console.
    """
    stored = Dataset.objects.get(pk=dataset.pk)
    is_asked = stored.people_asked and other_datasets(stored).exists()
    if is_asked if by and by.acting_key else open_warnings(stored).exists():
        raise Conflict(
            "An approver first has to answer, on the desk, whether other datasets hold the same "
            "people: open the dataset there and choose The same people."
        )


def people_answer(
    *, dataset: Dataset, by: User | None, reason: object = "", standing: bool = False
) -> PeopleAnswer:
    """Record that an approver has looked at the warnings, and why they are acceptable.

    A `standing` answer also holds for later files. `by` is None at the console. A reason is
    required if there is a warning or the answer is standing. Raises NotAllowed without the
    approver's role, InvalidInput for a missing or overlong reason, or Conflict while a file is
    being read.
    """
    if by is not None and (by.acting_key or not may(by, dataset, "publish")):
        raise NotAllowed("Only the approvers of this dataset may do this.")
    with transaction.atomic():
        stored = Dataset.objects.select_for_update().get(pk=dataset.pk)
        if stored.uploads.filter(state=UploadState.QUEUED).exists():
            raise Conflict("A file is being read; answer when that is done.")
        warnings = open_warnings(stored)
        if any(by is not None and not may(by, each.other, "see_private") for each in warnings):
            raise NotAllowed("Only the approvers of this dataset may do this.")
        needed = standing or warnings.exists()
        answer = PeopleAnswer.objects.create(
            dataset=stored,
            reason=clean_text(reason, field="reason", longest=MAX_REASON_LENGTH, required=needed),
            standing=standing,
            who=str(by or "console")[:200],
        )
        PeopleWarning.objects.filter(pk__in=list(warnings.values_list("pk", flat=True))).update(
            answer=answer
        )
        Dataset.objects.filter(pk=stored.pk).update(people_asked=False)
    logger.info("dataset %s: an answer about the same people was recorded", dataset.pk)
    return answer


class Comparison:
    """Comparison of a file that is being read with the data of other datasets.

    In a dataset that grows, the file is compared together with the ready files added before it.
    """

    def __init__(self, upload: Upload, canonical: Path, lease: JobLease) -> None:
        self._upload, self._canonical, self._lease = upload, canonical, lease
        self._dataset = upload.dataset
        self._before: Upload | None = None
        self._paths: tuple[Path, ...] = (canonical,)
        self._own: People | None = None
        self._seen: set[object] = set()
        self.found: set[int] = set()
        """Ids of the datasets found so far that have many people in common with this one."""

    def moved_to(self, path: Path) -> None:
        """Use a new path for the file, which has been moved."""
        self._canonical = path

    def lock(self) -> None:
        """Lock the organisation until the transaction ends.

        If two files are read at once, the later one is then compared with the earlier one.
        """
        rows = Organisation.objects.select_for_update(no_key=True)
        list(rows.filter(pk=self._dataset.organisation_id))

    def missing(self) -> list[Upload]:
        """Return the newest versions of other datasets that have not been compared yet.

        If another file has been added to this file's dataset in the meantime, all other datasets
        have to be compared again.
        """
        before = ready_upload(self._dataset) if self._dataset.grows else None
        if before != self._before:
            self._before, self._own, self._seen = before, None, set()
        newest = map(ready_upload, other_datasets(self._dataset).select_related("organisation"))
        return [each for each in newest if each and each.pk not in self._seen]

    def compare(self, others: Iterable[Upload], rows: int) -> None:
        """Compare the file, of `rows` accepted rows, with versions of other datasets, `others`.

        Every comparison is completed whatever the earlier ones found, so that the time taken does
        not depend on the findings.
        """
        with self._own_paths() as paths:
            self._paths = paths
            self._own = self._own and replace(self._own, paths=paths)
            for other in others:
                self._lease.step(Phrase("Reading rows"))
                self._seen.add(other.pk)
                try:
                    same = (self._same_file(other, rows), self._same_people(other))
                except (OSError, Conflict) as error:
                    # Go on if a file of the other dataset is missing or was replaced: a job must
                    # not fail because of another dataset.
                    logger.error(
                        "dataset %s: not compared with dataset %s: %s",
                        *(self._dataset.pk, other.dataset_id, type(error).__name__),
                    )
                    continue
                if any(same):
                    self.found.add(other.dataset_id)

    @contextmanager
    def _own_paths(self) -> Iterator[tuple[Path, ...]]:
        """Yield paths to the file being read and, if the dataset grows, to earlier ready ones."""
        if self._before is None:
            yield (self._canonical,)
        else:
            with people_paths(self._before, self._lease) as earlier:
                yield (*earlier, self._canonical)

    def _same_file(self, other: Upload, rows: int) -> bool:
        """Return whether the other dataset has received the very file that is being read.

        Always False if that file, and those it is added to, have fewer than `MIN_PEOPLE` people
        (rows, where records are protected).
        """
        checksum = self._upload.checksum
        known = Upload.objects.filter(dataset=other.dataset_id, checksum=checksum)
        same = known.exclude(state__in=(UploadState.RECEIVED, UploadState.FAILED)).exists()
        from dpgeo.ingest.same_people import MIN_PEOPLE

        enough = self._size(rows) >= MIN_PEOPLE
        return checksum is not None and same and enough

    def _size(self, rows: int) -> float:
        """Return the number of privacy units in the file and the data that it is added to."""
        if self._dataset.unit == Unit.PERSON:
            return self._people().number
        return rows + (rows_of(self._before) if self._before else 0)

    def _same_people(self, other: Upload) -> bool:
        from dpgeo.ingest.same_people import people_of, share_many

        both = (self._dataset, other.dataset)
        if not all(each.unit == Unit.PERSON for each in both):
            return False
        with people_paths(other, self._lease) as paths:
            return share_many(self._people(), people_of(paths, hashing_key(other.dataset)))

    def _people(self) -> People:
        from dpgeo.ingest.same_people import people_of

        if self._own is None:
            self._own = people_of(self._paths, hashing_key(self._dataset))
        return self._own

    def warn(self) -> None:
        """Store a warning for each dataset in which `compare` found many of the same people.

        If the dataset has a standing answer, new warnings are stored as answered. Otherwise, a
        warning that was answered for an earlier file is reopened; the answer itself stays on
        record.
        """
        standing = self._dataset.people_answers.filter(standing=True).first()
        for other in sorted(self.found):
            warning, new = PeopleWarning.objects.get_or_create(
                dataset=self._dataset, other_id=other, defaults={"answer": standing}
            )
            if not new and standing is None:
                answered = PeopleWarning.objects.filter(pk=warning.pk, answer__isnull=False)
                new = bool(answered.update(answer=None, found_at=timezone.now()))
            if new:
                logger.warning(
                    "dataset %s: many of the same people as dataset %s", self._dataset.pk, other
                )


def file_checksum(path: Path, dataset: Dataset) -> bytes:
    """Return a keyed checksum of a file.

    The key is derived for the dataset's organisation and is used for nothing else.
    """
    key = organisation_key(b"files", dataset.organisation_id)
    digest = hashlib.blake2b(key=key, digest_size=16)
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            digest.update(block)
    return digest.digest()
