"""The one door to private data and noise: a view is opened, and something drawn from it.

Privacy argument for discarded draws. To draw again until an attempt succeeds is to choose among
draws, unless whether it succeeds does not depend on the noise. So a mechanism that breaks off
after noise was drawn ends the job, with nothing given back and no further attempt. A worker that
dies, loses its lease or cannot reach its disk or database between the draw and the commit point
is another matter: nothing it drew was seen, and its noise did not bring that about. Its blob is
adopted if it was stored, and a new attempt draws if not, `MAX_ATTEMPTS` times at the most.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

from django.db import Error as DatabaseError

from dpgeo.core.errors import Conflict
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.parameters import layers_named, parse_parameters
from dpgeo.datasets.layers import domain_of
from dpgeo.datasets.models import Upload
from dpgeo.datasets.selectors import canonical_path
from dpgeo.datasets.storage import work_folder
from dpgeo.jobs.running import Held
from dpgeo.jobs.services import LeaseLost
from dpgeo.mechanisms.registry import find_mechanism
from dpgeo.privacy.entropy import SystemEntropy
from dpgeo.privacy.randomness import RandomWords
from dpgeo.privacy.view import PrivateView
from dpgeo.releases.models import Release

logger = logging.getLogger(__name__)

COUNTING = "Counting"

T = TypeVar("T")


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


def read_and_draw(
    release: Release,
    upload: Upload,
    held: Held,
    work: Callable[[PrivateView, Any, AnnouncedEntropy], T],
) -> T:
    """What `work(view, params, entropy)` draws from an upload as a release asks for it.

    Raises what it raises before any draw, and Conflict for whatever breaks off after it.
    """
    from dpgeo.engine.duckdb_view import DuckDBView

    dataset = release.dataset
    params = parse_parameters(find_mechanism(release.mechanism).params, release.parameters)
    held.step(COUNTING)
    with canonical_path(upload) as path, work_folder() as folder:
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
            return work(view, params, entropy)
        except (LeaseLost, DatabaseError):
            raise
        except Exception as error:
            if not entropy.announced:
                raise
            raise broken_off(release, error) from None


def broken_off(release: Release, error: Exception) -> Conflict:
    """The end of a job whose draw came to nothing; logged by kind and place alone."""
    place = "".join(traceback.format_tb(error.__traceback__))
    logger.error("release %s: %s\n%s", release.pk, type(error).__name__, place)
    return Conflict(
        "The mechanism broke off after noise was drawn. To draw again would be to choose among "
        "draws, so what it cost stays spent; ask for a release anew, perhaps of another mechanism, "
        "and report this as a fault."
    )
