"""The job of a release: count, draw once, commit, write files. The only opener of noise.

Whatever a worker drew is in one blob, and the first blob that `Release.blob_name` names stands for
good: a later draw deletes its own. Everything after that reads the blob, never the data. Draws
that are discarded are never logged.

Privacy argument for discarded draws. To draw again until an attempt succeeds is to choose among
draws, unless whether it succeeds does not depend on the noise. So a mechanism that breaks off
after noise was drawn ends the job, with nothing given back and no further attempt. A worker that
dies, loses its lease or cannot reach its disk or database between the draw and the commit point
is another matter: nothing it drew was seen, and its noise did not bring that about. Its blob is
adopted if it was stored, and a new attempt draws if not, `MAX_ATTEMPTS` times at the most.
"""

from __future__ import annotations

import logging
import os
import secrets
import traceback
from contextlib import suppress
from datetime import UTC

from django.db import Error as DatabaseError

from dpgeo.accounts.selectors import may
from dpgeo.budgets.selectors import points_ledger
from dpgeo.core.domain import LayerKind
from dpgeo.core.epsilon import format_epsilon
from dpgeo.core.errors import Conflict
from dpgeo.core.guarantees import Bounding, Counting, Notion, Unit, from_units
from dpgeo.core.parameters import layers_named, parse_parameters
from dpgeo.core.released import Released
from dpgeo.datasets.layers import domain_of
from dpgeo.datasets.selectors import canonical_path
from dpgeo.datasets.storage import private_storage, remove, store, work_folder
from dpgeo.jobs.running import Held
from dpgeo.jobs.services import LeaseLost
from dpgeo.mechanisms.registry import find_mechanism
from dpgeo.privacy.entropy import SystemEntropy
from dpgeo.privacy.mechanism import run
from dpgeo.privacy.randomness import RandomWords
from dpgeo.releases import files
from dpgeo.releases.blobs import adopt, blob_prefix, name_blob
from dpgeo.releases.models import Release, ReleaseState
from dpgeo.releases.selectors import released_of
from dpgeo.releases.services import publish

logger = logging.getLogger(__name__)

COUNTING = "Counting"


class AnnouncedEntropy:
    """Production randomness that records `drawing` before its first word is drawn.

    Counting may fail and be refunded; from the first stream on there is no refund.
    """

    def __init__(self, held: Held) -> None:
        self._held = held
        self._entropy = SystemEntropy()
        self.announced = False

    def stream(self) -> RandomWords:
        """A fresh stream. Raises LeaseLost, with nothing drawn, if the job was taken over."""
        if not self.announced:
            self._held.set_drawing()
            self.announced = True
        self._held.step("Drawing noise")
        return self._entropy.stream()


def work_on(release_id: str, held: Held) -> None:
    """Do what is left to do of a release: draw unless that is done, write files, publish."""
    release = Release.objects.select_related("dataset__ledger", "upload", "created_by").get(
        pk=release_id
    )
    if not release.blob_name and not adopt(release, held):
        commit(release, draw(release, held))
    if release.state == ReleaseState.WITHDRAWN:
        return
    build_files(release, held)
    if release.state == ReleaseState.PUBLISHED:
        files.make_public(release)
    elif release.publish_when_done and still_may_publish(release):
        held.step("Publishing")
        with suppress(Conflict):  # It stays a draft; publishing by hand says why.
            publish(release)


def still_may_publish(release: Release) -> bool:
    """Whether who asked for publication may publish now; nobody's request is the console's.

    When an account is deleted its requests wait for an approver (`receivers.forget_publisher`).
    """
    by = release.created_by
    return by is None or may(by, release.dataset, "publish")


def draw(release: Release, held: Held) -> Released:
    """Count in the private data and add noise, once.

    Raises what the count raises before any draw, and Conflict for whatever breaks off after it.
    """
    from dpgeo.engine.duckdb_view import DuckDBView

    dataset = release.dataset
    mechanism = find_mechanism(release.mechanism)
    params = parse_parameters(mechanism.params, release.parameters)
    held.step(COUNTING)
    with canonical_path(release.upload) as path, work_folder() as folder:
        view = DuckDBView(
            path,
            domain=domain_of(dataset, layers_named(params)),
            unit=Unit(dataset.unit),
            counting=Counting(release.counting),
            bound=release.bound,
            salt=bytes(release.salt),
            folder=folder,
            progress=lambda done, total: held.step(COUNTING, done, total),
        )
        entropy = AnnouncedEntropy(held)
        try:
            bounding = Bounding(release.bounding)
            return run(mechanism, view, params, release.epsilon, entropy, about(release), bounding)
        except (LeaseLost, DatabaseError):
            raise
        except Exception as error:
            if not entropy.announced:
                raise
            raise _broken_off(release, error) from None


def _broken_off(release: Release, error: Exception) -> Conflict:
    """The end of a job whose draw came to nothing; logged by kind and place alone."""
    place = "".join(traceback.format_tb(error.__traceback__))
    logger.error("release %s: %s\n%s", release.pk, type(error).__name__, place)
    return Conflict(
        "The mechanism broke off after noise was drawn. To draw again would be to choose among "
        "draws, so what it cost stays spent; ask for a release anew, perhaps of another mechanism, "
        "and report this as a fault."
    )


def about(release: Release) -> dict[str, str]:
    """The public words that go into the blob, and so into every file."""
    dataset = release.dataset
    return {
        "title": release.title,
        "description": release.description,
        "requested_on": release.created_at.astimezone(UTC).date().isoformat(),
        "dataset": dataset.title,
        "dataset_slug": dataset.slug,
        "publisher": dataset.organisation.name,
        "contact": dataset.organisation.contact,
        "licence": dataset.licence,
        "attribution": dataset.attribution,
        "dataset_total_epsilon": format_epsilon(from_units(Notion.PURE_DP, release.total_units)),
        **_points_total(release),
        **_prior(release),
    }


def _points_total(release: Release) -> dict[str, str]:
    """What may ever be spent on moving points, per metre and as a level; none was declared."""
    points = points_ledger(release.dataset.ledger)
    units = release.points_total_units
    if points is None or units is None:
        return {}
    return {
        "dataset_points_epsilon": format_epsilon(points.epsilon_of(units)),
        "dataset_points_level": points.amount(units),
        "dataset_points_radius": str(points.radius),
    }


def _prior(release: Release) -> dict[str, str]:
    """The public density that a release was asked for with; it never changes."""
    prior = release.layers.filter(kind=LayerKind.DENSITY.value).first()
    return {"prior_title": prior.title, "prior_sha256": prior.sha256} if prior else {}


def commit(release: Release, released: Released) -> None:
    """The commit point: one row names one blob. A draw that comes second deletes its own.

    Raises Conflict for a draw that cannot be written down: whether it can depends on its noise.
    """
    from dpgeo.artefacts.codec import encode

    try:
        blob = encode(released)
    except Exception as error:
        raise _broken_off(release, error) from None
    storage = private_storage()
    with work_folder() as folder:
        path = folder / "blob"
        with path.open("wb") as file:
            file.write(blob)
            file.flush()
            os.fsync(file.fileno())  # on the disk before a row says that it is there
        name = store(storage, f"{blob_prefix(release.job_id)}{secrets.token_hex(16)}", path)
    if not name_blob(release, name, blob):
        remove(storage, name)


def build_files(release: Release, held: Held) -> None:
    """Make every artefact from the committed blob and store what is not stored yet."""
    from dpgeo.artefacts.files import build_files as build

    held.step("Writing files")
    with work_folder() as folder:
        built = build(released_of(release), folder)
        for number, file in enumerate(built, 1):
            held.step(f"Writing files {number} of {len(built)}", number - 1, len(built))
            files.keep_file(release, file)
