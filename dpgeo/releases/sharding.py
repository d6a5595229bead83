"""Perturbation of large point files, and counts of large folders, divided among the workers.

The release's job divides its people into shards, creates a job for each shard, and wakes the
workers. The release's job then perturbs shards itself as long as any remain, waits for shards that
other workers have leased, and combines all shards. So one worker is enough to finish a release, and
any number can help.

Privacy argument. Before any shard exists, the whole cost is charged and `drawing` is set. Every
person is in one shard of one version of the data, so their points are perturbed once
(`privacy.mechanism.Sharded`). The output of a shard is committed once: the first blob whose name is
stored in `ReleaseShard.blob_name` is final, and a later draw is deleted. Nobody sees any output of
a shard before the release's own blob is committed, and then the shards are deleted. So a worker
that is killed before its shard is committed has revealed nothing, and the shard is drawn again.
Whether a worker is killed does not depend on its noise. A shard that fails after drawing noise ends
the release, as with any mechanism.

A shard records the total number of shards when it is created. The shard's people follow from its
own number and that total, whatever happens to other shards. All shards are created and discarded
together, by the holder of the release's lease, and only a complete set with the same version of the
data and the same total is combined. So nobody is in two shards of a release. If a person is erased
in the meantime, all shards are discarded and drawn again from the new version. The total follows
from the number of rows, and is shown only to users who may see that number. The number of points is
public in every release of points.

Counts. If rows are read in place (`engine.in_place`), each measurement of a mechanism is divided as
well. The release's job stores a `Question`, which says what to count. Each shard counts its people,
and the job adds the answers up. The sums are exactly the counts that a single worker would find.
Privacy argument. Shards of counts draw no noise: their answers, like the questions of later
measurements, are private intermediates, as the arrays in one worker's memory are. They lie in the
private storage, under random names that only their rows name; a backup of that moment holds them,
as it holds uploads. No page and no API shows them, their sizes or their number. They are deleted as
soon as they are added up, and otherwise with the release, its dataset or the job's end. Noise is
drawn by the release's job alone, once, after all answers of a measurement are there. An answer
follows from the question, the salt and the rows, so counting a lost shard again gives the same
answer, and a second attempt of the job may use those given to the first if it asks the same.
If a person is erased meanwhile, nothing that was counted is used: the job begins again with the new
version.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

import numpy as np
from django.conf import settings
from django.db import transaction

from dpgeo.core.errors import Conflict
from dpgeo.core.guarantees import Unit
from dpgeo.core.noise import PlanarLaplace
from dpgeo.core.parameters import layers_named
from dpgeo.core.released import Released
from dpgeo.core.spend import Measured
from dpgeo.datasets.erasure import DataChanged
from dpgeo.datasets.layers import domain_of
from dpgeo.datasets.orphan_files import stored_names, sweep
from dpgeo.datasets.storage import open_stored, private_storage, remove
from dpgeo.datasets.versions import rows_of
from dpgeo.engine.duckdb_view import Answer
from dpgeo.engine.in_place import (
    Division,
    InPlaceView,
    Question,
    answer_from_bytes,
    answer_to_bytes,
)
from dpgeo.jobs.lease import JobLease, job_run
from dpgeo.jobs.models import UNFINISHED, Job, JobState
from dpgeo.jobs.services import job_create, job_give_up, job_wake
from dpgeo.phrases import Phrase
from dpgeo.privacy import mechanism as mechanisms
from dpgeo.privacy.mechanism import PublicContext, combine_shards, run_shard
from dpgeo.privacy.planar_laplace_sampler import Perturbed
from dpgeo.privacy.positions import Shard
from dpgeo.privacy.view import PrivateView
from dpgeo.releases.models import Release, ReleaseShard
from dpgeo.releases.private_draw import COUNTING, read_and_draw, store_bytes, store_draw
from dpgeo.releases.requests import request_of

logger = logging.getLogger(__name__)

SHARD_TASK = "releases.part"

FOLDER = "parts"
"""Folder in the private storage for shards' outputs and for the questions that shards answer."""

MAX_SHARDS = 64

MOVING = Phrase("Moving points")

POLL_SECONDS = 0.5
"""Seconds between two checks of shards that other workers have leased."""


def number_of_shards(release: Release) -> int:
    """Return how many shards a release has, given the number of rows of its version of the data.

    This applies only to mechanisms that can be sharded.
    """
    rows = rows_of(release.upload)
    most: int = settings.DPGEO_ROWS_PER_SHARD
    return max(1, min(-(-rows // most), MAX_SHARDS))


def draw_in_shards(
    release: Release, lease: JobLease, number: int, about: Mapping[str, str]
) -> Released:
    """Perturb all points of a release together with other workers, and combine the shards.

    `number` is the number of shards. Raises LeaseLost, or Conflict if a shard failed.
    """
    lease.set_drawing()
    shards = _current_shards(release, lease, number)
    while waiting := [shard.job_id for shard in shards if not shard.blob_name]:
        if not any(shard_run(job_id=job) for job in waiting):
            time.sleep(POLL_SECONDS)
        shards = _current_shards(release, lease, number)
    request = request_of(release)
    params = request.params
    dataset = release.dataset
    terms = PublicContext(
        domain_of(dataset, layers_named(params)),
        Unit(dataset.unit),
        request.counting,
        request.bound,
    )
    contents = [_read(shard) for shard in shards]
    return combine_shards(request.definition, terms, params, request.amount, about, contents)


def division_of(release: Release, lease: JobLease) -> Division | None:
    """Return how a release's counts are divided among the workers, or None if they are not."""
    # Each shard also reads the rows of all other people, so many shards would waste the time of few
    # workers.
    number = min(number_of_shards(release), settings.DPGEO_COUNT_SHARDS)
    if not release.upload.source or number == 1:
        return None
    return Division(number, lambda question: _count_in_shards(release, lease, question))


def _count_in_shards(release: Release, lease: JobLease, question: Question) -> Iterator[Answer]:
    """Yield the exact counts that a question asks for, shard by shard.

    The people are divided into `question.passes` shards, which this worker and others count. Raises
    LeaseLost, DataChanged, or Conflict if a shard failed.
    """
    asked = question.to_bytes()
    version = release.upload_id
    while True:
        shards = _current_shards(release, lease, question.passes, asked)
        if release.upload_id != version:
            raise DataChanged
        waiting = [shard.job_id for shard in shards if not shard.blob_name]
        if not waiting:
            break
        if not any(shard_run(job_id=job) for job in waiting):
            time.sleep(POLL_SECONDS)
    for shard in shards:
        yield answer_from_bytes(_content(shard))
    discard_shards(release, lease)


def _current_shards(
    release: Release, lease: JobLease, number: int, asked: bytes = b""
) -> list[ReleaseShard]:
    """Return all shards for the current version of the data in order, finished or not.

    If `asked` is a question, they are the shards that answer it. Creates them if there are none, or
    if the existing shards are of another version or question. Raises LeaseLost, DataChanged, or
    Conflict if a shard failed.
    """
    step = COUNTING if asked else MOVING
    lease.step(step)  # Raises LeaseLost: only the lease's holder may create shards.
    release.refresh_from_db(fields=["upload"])
    shards = list(release.shards.select_related("job").order_by("number"))
    if not _is_whole(release, shards) or _asked(shards[0]) != asked:
        discard_shards(release, lease)
        shards = _create_shards(release, lease, number, asked)
    lease.step(step, sum(bool(shard.blob_name) for shard in shards), len(shards))
    for shard in shards:
        if shard.job.state == JobState.FAILED or job_give_up(job=shard.job):
            shard.job.refresh_from_db()
            release.refresh_from_db(fields=["upload"])
            if release.upload_id != shard.upload_id:
                raise DataChanged
            raise Conflict(shard.job.failure)
    return shards


def _is_whole(release: Release, shards: Sequence[ReleaseShard]) -> bool:
    """Return whether these shards form a complete set for the current version of the data."""
    stored = [(shard.number, shard.total, shard.upload_id, shard.question_name) for shard in shards]
    total = len(shards)
    return total > 0 and stored == [
        (number, total, release.upload_id, shards[0].question_name) for number in range(total)
    ]


def _asked(shard: ReleaseShard) -> bytes:
    """Return the stored `Question` that a shard answers, or b"" if its points are perturbed."""
    if not shard.question_name:
        return b""
    with open_stored(private_storage(), shard.question_name) as file:
        return bytes(file.read())


def _create_shards(
    release: Release, lease: JobLease, number: int, asked: bytes = b""
) -> list[ReleaseShard]:
    """Create all `number` shards, or none, and wake the workers for each. Raises LeaseLost.

    The jobs of shards that draw noise are marked as having drawn it. Those of shards that are only
    counted are marked so only if the release's job is.
    """
    question_name, drawing = "", True
    if asked:
        drawing = Job.objects.values_list("drawing", flat=True).get(pk=lease.job_id)
        name = f"{FOLDER}/{secrets.token_hex(16)}"
        question_name = store_draw(release, name, asked) if drawing else store_bytes(name, asked)
    with transaction.atomic():
        lease.renew()
        shards = [
            ReleaseShard.objects.create(
                release=release,
                upload_id=release.upload_id,
                number=place,
                total=number,
                question_name=question_name,
                job=job_create(task=SHARD_TASK, drawing=drawing),
            )
            for place in range(number)
        ]
        for shard in shards:
            job_wake(job=shard.job)
    return shards


def shard_run(*, job_id: UUID) -> bool:
    """Run the job of a shard; return False if it cannot be leased."""
    return job_run(job_id=job_id, work=_work_on)


def _work_on(lease: JobLease) -> None:
    """Perturb or count the leased shard and commit the result, unless the release has ended."""
    shard = (
        ReleaseShard.objects.filter(job_id=lease.job_id, blob_name="", release__blob_name="")
        .filter(release__job__state__in=UNFINISHED)
        .select_related("release__dataset", "upload")
        .first()
    )
    if shard is None:
        return
    release = shard.release
    if shard.question_name:
        _commit_shard(shard, answer_to_bytes(_count(shard, lease)))
        return
    request = request_of(release)
    share = Shard(shard.number, shard.total)
    drawn = read_and_draw(
        release,
        shard.upload,
        lease,
        lambda view, params, entropy: run_shard(
            request.definition, view, params, request.amount, entropy, share
        ),
    )
    _commit_shard(shard, encode_shard(drawn))


def _count(shard: ReleaseShard, lease: JobLease) -> Answer:
    """Return the exact counts, among a shard's people, that the shard's question asks for."""
    question = Question.from_bytes(_asked(shard))

    def answer(view: PrivateView, *_: object) -> Answer:
        if not isinstance(view, InPlaceView):
            raise TypeError("Only rows that are read in place are counted in shards.")
        return view.answer(question, shard.number)

    return read_and_draw(shard.release, shard.upload, lease, answer)


def _commit_shard(shard: ReleaseShard, data: bytes) -> None:
    """Store a shard's output and commit it, unless another output was committed before."""
    name = f"{FOLDER}/{shard.job_id}-{secrets.token_hex(16)}"
    # If counts cannot be stored, the shard is counted again. A draw must not be repeated, so
    # `store_draw` tries several times to store it.
    name = store_bytes(name, data) if shard.question_name else store_draw(shard.release, name, data)
    unnamed = ReleaseShard.objects.filter(pk=shard.pk, blob_name="")
    if not unnamed.update(blob_name=name, blob_sha256=hashlib.sha256(data).hexdigest()):
        remove(private_storage(), name)


def _read(shard: ReleaseShard) -> mechanisms.PerturbedShard:
    return decode_shard(_content(shard))


def _content(shard: ReleaseShard) -> bytes:
    """Return the output of a shard. Raises Conflict if it was damaged."""
    with open_stored(private_storage(), shard.blob_name) as file:
        data = bytes(file.read())
    if hashlib.sha256(data).hexdigest() != shard.blob_sha256:
        raise Conflict("Some of the work was damaged in storage; request a new release.")
    return data


def encode_shard(shard: mechanisms.PerturbedShard) -> bytes:
    """Encode a shard's perturbed points, and the record of what was spent on them, as .npz.

    Nothing is pickled.
    """
    perturbed = shard.perturbed
    arrays: dict[str, Any] = {"longitude": perturbed.longitude, "latitude": perturbed.latitude}
    if perturbed.time is not None:
        arrays["time"] = perturbed.time
    if perturbed.attributes is not None:
        arrays["attributes"] = perturbed.attributes
    trace = json.dumps([line.to_json() for line in shard.trace]).encode()
    buffer = io.BytesIO()
    np.savez(buffer, trace=np.frombuffer(trace, dtype=np.uint8), **arrays)
    return buffer.getvalue()


def decode_shard(data: bytes) -> mechanisms.PerturbedShard:
    """Return the shard that `encode_shard` encoded."""
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        lines = json.loads(archive["trace"].tobytes())
        trace = tuple(Measured.from_json(line) for line in lines)
        [noise] = [line.noise for line in trace if isinstance(line.noise, PlanarLaplace)]
        perturbed = Perturbed(
            noise,
            archive["longitude"],
            archive["latitude"],
            archive.get("time", None),
            archive.get("attributes", None),
        )
    return mechanisms.PerturbedShard(perturbed, trace)


def discard_shards(release: Release, lease: JobLease | None = None) -> None:
    """Delete all shards of a release, with their jobs and files.

    The worker that runs the release's job passes its `lease`; once that job has ended,
    reconciliation passes None. Workers that are perturbing or counting a shard lose their lease of
    the shard's job, because that job is deleted. Raises LeaseLost if `lease` is lost.
    """
    with transaction.atomic():
        if lease:
            lease.renew()
        shards = list(release.shards.all())
        release.shards.filter(pk__in=[shard.pk for shard in shards]).delete()
        Job.objects.filter(pk__in=[shard.job_id for shard in shards]).delete()
    for name in {name for each in shards for name in (each.blob_name, each.question_name)} - {""}:
        remove(private_storage(), name)


def sweep_shards() -> int:
    """Discard the shards of releases whose jobs have ended, and delete orphan shard files.

    Returns the number of orphan files deleted.
    """
    ended = Release.objects.filter(shards__isnull=False).exclude(job__state__in=UNFINISHED)
    for release in ended.distinct():
        discard_shards(release)
    stored = list(stored_names(private_storage(), FOLDER))
    named = ReleaseShard.objects.values_list("blob_name", "question_name")
    return sweep(private_storage(), stored, keep={name for both in named for name in both})
