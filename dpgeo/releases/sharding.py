"""Large files of points, moved in parts: each by whichever worker takes it, the first one too.

The job of the release deals its people into parts, each with a job of its own, and wakes the
workers. It then takes parts itself while there are any, waits for those in other hands, and puts
all of them together. So one worker alone comes to the end, and any number help.

Privacy argument. The whole cost is charged, and `drawing` set, before there is a part. Every
person is in one part of one version of the data, so that their reports are moved once
(`privacy.mechanism.Sharded`). What came out of a part is written once: the first blob that
`ReleaseShard.blob_name` names stands, a later draw deletes its own. Until the release's own blob is
committed nothing of any part is seen by anybody, and afterwards the parts are deleted. So a worker
that is killed before its part is named has shown nothing, and its part is drawn again; one killed
later has left it behind. Whether a worker is killed does not depend on its noise. A part that
breaks off after its noise was drawn ends the release, as any mechanism that does.

A part bears the number of parts it is one of from when it is dealt, and its people follow from
that alone, whatever became of the others. Parts are dealt, and thrown away, all or none, by who
holds the lease of the release; and only a whole set of one version and one number is put together.
So nobody is in two parts of a release. Where a person is erased meanwhile, all parts are thrown
away and drawn from the new version. How many parts there are follows from the number of rows. It is
shown to nobody who may not see that number, and a release of points says how many there are.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import numpy as np
from django.conf import settings
from django.db import transaction

from dpgeo.core.errors import Conflict
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.noise import PlanarLaplace
from dpgeo.core.parameters import layers_named, parse_parameters
from dpgeo.core.released import Released
from dpgeo.core.spend import Measured
from dpgeo.datasets.layers import domain_of
from dpgeo.datasets.orphan_files import stored_names, sweep
from dpgeo.datasets.storage import private_storage, remove
from dpgeo.jobs.lease import JobLease, job_run
from dpgeo.jobs.models import UNFINISHED, Job, JobState
from dpgeo.jobs.services import job_create, job_give_up, job_wake
from dpgeo.mechanisms.registry import find_mechanism
from dpgeo.privacy import mechanism as mechanisms
from dpgeo.privacy.mechanism import PublicContext, combine_shards, run_shard
from dpgeo.privacy.planar_laplace_sampler import Perturbed
from dpgeo.privacy.positions import Shard
from dpgeo.releases.models import Release, ReleaseShard
from dpgeo.releases.private_draw import read_and_draw, store_draw

logger = logging.getLogger(__name__)

SHARD_TASK = "releases.part"

FOLDER = "parts"
"""Of the private storage."""

MAX_SHARDS = 64

MOVING = "Moving points"

POLL_SECONDS = 0.5
"""Between two looks at parts in other hands."""


def number_of_shards(release: Release) -> int:
    """Into how many parts a release is dealt, if its mechanism can be: by the file's rows."""
    rows = int((release.upload.report or {}).get("accepted", 0))
    most: int = settings.DPGEO_ROWS_A_PART
    return max(1, min(-(-rows // most), MAX_SHARDS))


def draw_in_shards(
    release: Release, lease: JobLease, number: int, about: Mapping[str, str]
) -> Released:
    """Move all points, with what other workers do of it, and put them together.

    Raises Conflict where a part failed for good.
    """
    lease.set_drawing()
    parts = _standing(release, lease, number)
    while waiting := [part.job_id for part in parts if not part.blob_name]:
        if not any(shard_run(job_id=job) for job in waiting):
            time.sleep(POLL_SECONDS)
        parts = _standing(release, lease, number)
    mechanism = find_mechanism(release.mechanism)
    params = parse_parameters(mechanism.params, release.parameters)
    dataset = release.dataset
    terms = PublicContext(
        domain_of(dataset, layers_named(params)),
        Unit(dataset.unit),
        Counting(release.counting),
        release.bound,
    )
    found = [_read(part) for part in parts]
    return combine_shards(mechanism, terms, params, release.epsilon, about, found)


def _standing(release: Release, lease: JobLease, number: int) -> list[ReleaseShard]:
    """All parts of the newest version of the data, by number, written or not.

    They are dealt where there are none, or others. Raises LeaseLost, and Conflict where one failed.
    """
    lease.step(MOVING)  # whoever lost the lease deals no parts
    release.refresh_from_db(fields=["upload"])
    parts = list(release.shards.select_related("job").order_by("number"))
    if not _is_whole(release, parts):
        discard_shards(release, lease)
        parts = _deal(release, lease, number)
    lease.step(MOVING, sum(bool(part.blob_name) for part in parts), len(parts))
    for part in parts:
        if part.job.state == JobState.FAILED or job_give_up(job=part.job):
            part.job.refresh_from_db()
            raise Conflict(part.job.failure)
    return parts


def _is_whole(release: Release, parts: Sequence[ReleaseShard]) -> bool:
    """Whether these are all parts of one deal, of the version of the data that is to be read."""
    dealt = [(part.number, part.total, part.upload_id) for part in parts]
    total = len(parts)
    return total > 0 and dealt == [(number, total, release.upload_id) for number in range(total)]


def _deal(release: Release, lease: JobLease, number: int) -> list[ReleaseShard]:
    """The parts, all of them or none, and a word to the workers for each. Raises LeaseLost."""
    with transaction.atomic():
        lease.renew()
        parts = [
            ReleaseShard.objects.create(
                release=release,
                upload_id=release.upload_id,
                number=place,
                total=number,
                job=job_create(task=SHARD_TASK, drawing=True),
            )
            for place in range(number)
        ]
        for part in parts:
            job_wake(job=part.job)
    return parts


def shard_run(*, job_id: UUID) -> bool:
    """Do the job of a part. False when it was not to be had."""
    return job_run(job_id=job_id, work=_work_on)


def _work_on(lease: JobLease) -> None:
    """Move the reports of a part and name what came out. Nothing to do where the release ended."""
    part = (
        ReleaseShard.objects.filter(job_id=lease.job_id, blob_name="", release__blob_name="")
        .filter(release__job__state__in=UNFINISHED)
        .select_related("release__dataset", "upload")
        .first()
    )
    if part is None:
        return
    release = part.release
    mechanism = find_mechanism(release.mechanism)
    share = Shard(part.number, part.total)
    drawn = read_and_draw(
        release,
        part.upload,
        lease,
        lambda view, params, entropy: run_shard(
            mechanism, view, params, release.epsilon, entropy, share
        ),
    )
    _write(part, drawn)


def _write(part: ReleaseShard, drawn: mechanisms.PerturbedShard) -> None:
    """Store what came out of a part, and name it if it is the first."""
    data = encode_shard(drawn)
    name = store_draw(part.release, f"{FOLDER}/{part.job_id}-{secrets.token_hex(16)}", data)
    unnamed = ReleaseShard.objects.filter(pk=part.pk, blob_name="")
    if not unnamed.update(blob_name=name, blob_sha256=hashlib.sha256(data).hexdigest()):
        remove(private_storage(), name)


def _read(part: ReleaseShard) -> mechanisms.PerturbedShard:
    with private_storage().open(part.blob_name, "rb") as file:
        data = file.read()
    if hashlib.sha256(data).hexdigest() != part.blob_sha256:
        raise Conflict("A part of the points was damaged in the storage; ask for a release anew.")
    return decode_shard(data)


def encode_shard(part: mechanisms.PerturbedShard) -> bytes:
    """Arrays of what came out, and the trace, as an .npz without pickles."""
    moved = part.moved
    arrays: dict[str, Any] = {"longitude": moved.longitude, "latitude": moved.latitude}
    if moved.time is not None:
        arrays["time"] = moved.time
    if moved.attributes is not None:
        arrays["attributes"] = moved.attributes
    trace = json.dumps([line.to_json() for line in part.trace]).encode()
    buffer = io.BytesIO()
    np.savez(buffer, trace=np.frombuffer(trace, dtype=np.uint8), **arrays)
    return buffer.getvalue()


def decode_shard(data: bytes) -> mechanisms.PerturbedShard:
    """Invert `encode_shard`."""
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        lines = json.loads(archive["trace"].tobytes())
        trace = tuple(Measured.from_json(line) for line in lines)
        [noise] = [line.noise for line in trace if isinstance(line.noise, PlanarLaplace)]
        moved = Perturbed(
            noise,
            archive["longitude"],
            archive["latitude"],
            archive.get("time", None),
            archive.get("attributes", None),
        )
    return mechanisms.PerturbedShard(moved, trace)


def discard_shards(release: Release, lease: JobLease | None = None) -> None:
    """Delete the parts of a release that nobody needs any more, with their jobs and files.

    All or none: by who holds the release's job, or by the sweep once that has ended. Whoever works
    on a part loses the lease with its job. Raises LeaseLost.
    """
    with transaction.atomic():
        if lease:
            lease.renew()
        parts = list(release.shards.all())
        release.shards.filter(pk__in=[part.pk for part in parts]).delete()
        Job.objects.filter(pk__in=[part.job_id for part in parts]).delete()
    for name in {part.blob_name for part in parts} - {""}:
        remove(private_storage(), name)


def sweep_shards() -> int:
    """Discard the parts of releases that came to an end, and delete files that no part names."""
    ended = Release.objects.filter(shards__isnull=False).exclude(job__state__in=UNFINISHED)
    for release in ended.distinct():
        discard_shards(release)
    found = list(stored_names(private_storage(), FOLDER))
    named = ReleaseShard.objects.exclude(blob_name="").values_list("blob_name", flat=True)
    return sweep(private_storage(), found, keep=set(named))
