"""Collections of OGC API - Features: the layers of published releases."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.http import Http404
from django.shortcuts import get_object_or_404

from dpgeo.api.access import check_served
from dpgeo.releases.models import Release, ReleaseFile
from dpgeo.releases.states import KNOWN

SUFFIX = ".parquet"


@dataclass(frozen=True, slots=True)
class Collection:
    """A layer of a published release, and the file with the layer's features."""

    release: Release
    file: ReleaseFile

    @property
    def layer(self) -> str:
        """Return the layer's name."""
        return self.file.name.removesuffix(SUFFIX)

    @property
    def id(self) -> str:
        """Return the collection's id: the release's id, a dot and the layer's name."""
        return f"{self.release.pk}.{self.layer}"

    @property
    def title(self) -> str:
        """Return the release's title followed by the layer's name."""
        return f"{self.release.title}: {self.layer}"


def collections_of(release: Release) -> list[Collection]:
    """Return the layers of a release that have a public file of features."""
    files = [
        each
        for each in release.files.all()
        if each.public and each.kind.layer and each.name.endswith(SUFFIX)
    ]
    return [Collection(release, file) for file in files]


def find_collection(collection_id: str) -> Collection:
    """Return the collection with this id.

    Raises Http404 if there is none, or Gone if its release is withdrawn.
    """
    match = re.fullmatch(r"([\w-]{1,32})\.([\w-]{1,60})", collection_id, re.ASCII)
    if match is None:
        raise Http404
    known = Release.objects.filter(state__in=KNOWN).select_related("dataset")
    release = get_object_or_404(known, pk=match[1])
    check_served(release)
    file = get_object_or_404(release.files, name=match[2] + SUFFIX, public=True)
    return Collection(release, file)
