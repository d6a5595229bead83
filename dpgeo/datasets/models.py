"""Datasets, their uploaded files, the private reports and the public layers."""

from __future__ import annotations

import uuid

from django.db import models

from dpgeo.accounts.models import ApiKey, Organisation, User
from dpgeo.budgets.models import Ledger
from dpgeo.core.attributes import Attribute
from dpgeo.core.domain import LayerKind
from dpgeo.core.guarantees import Unit
from dpgeo.jobs.models import Job
from dpgeo.jobs.phrase_field import PhraseField
from dpgeo.spatial.area import StudyArea


class UnitChoice(models.TextChoices):
    """Privacy units; the values are those of `core.guarantees.Unit`."""

    PERSON = Unit.PERSON.value, "Person: all rows of one person"
    RECORD = Unit.RECORD.value, "Record: one row"


class Dataset(models.Model):
    """A private table of locations, described by public facts alone.

    The facts marked "frozen" cannot change after the first upload is confirmed (`frozen_at`). From
    the first bytes on (`first_upload_at`, which stays even if the file is deleted, and passes to
    datasets of the same budget), the study area can only be exchanged for a named place, and layers
    need a provenance.
    `west` to `north` are the sides of the study area's bounding box in degrees: an area has up to
    20,000 corners, and lists and searches read none of them.
    """

    slug = models.SlugField(unique=True, max_length=80)
    organisation = models.ForeignKey(
        Organisation, on_delete=models.PROTECT, related_name="datasets"
    )
    title = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    licence = models.CharField(max_length=100, default="CC BY 4.0")
    attribution = models.CharField(max_length=300, blank=True)
    unit = models.CharField(max_length=10, choices=UnitChoice.choices, default=UnitChoice.PERSON)
    row_noun = models.CharField(
        max_length=20,
        blank=True,
        default="",
        help_text="What a row is called, such as trip. Empty: by the unit.",
    )
    study_area = models.JSONField(help_text="GeoJSON polygon, longitude first. Frozen.")
    west = models.FloatField(editable=False)
    south = models.FloatField(editable=False)
    east = models.FloatField(editable=False)
    north = models.FloatField(editable=False)
    time_zone = models.CharField(max_length=60, default="UTC", help_text="Frozen.")
    public_attributes = models.JSONField(
        default=list,
        blank=True,
        help_text="Columns that everybody may know of every report, with their values. Frozen.",
    )
    columns = models.JSONField(
        default=dict,
        blank=True,
        help_text="Which column holds what: person, longitude, latitude, time. Frozen.",
    )
    ledger = models.ForeignKey(Ledger, on_delete=models.PROTECT, related_name="datasets")
    area_exchange = models.JSONField(
        default=dict,
        blank=True,
        editable=False,
        help_text="The named place that the area was exchanged for after the first upload.",
    )
    first_upload_at = models.DateTimeField(null=True, blank=True, editable=False)
    frozen_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    sealed_person_key = models.BinaryField(
        max_length=60,
        editable=False,
        help_text="Key of the person hashes, encrypted with a key apart from the database.",
    )
    layered = models.BooleanField(
        default=False,
        editable=False,
        help_text="Whether person hashes can be compared with those of other datasets.",
    )
    people_asked = models.BooleanField(
        default=False,
        editable=False,
        help_text="An approver has to answer whether other datasets hold the same people.",
    )
    keep_raw = models.BooleanField(
        default=False,
        help_text="Keep uploaded files for a while after they were read; releases need them not.",
    )

    class Meta:
        ordering = ["title"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(unit__in=UnitChoice.values), name="dataset_unit_is_known"
            )
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def area(self) -> StudyArea:
        """Return the study area as geometry."""
        return StudyArea.from_geojson(self.study_area)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """Return the public attributes."""
        return tuple(map(Attribute.from_json, self.public_attributes))

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """Return west, south, east and north of the study area in degrees."""
        return self.west, self.south, self.east, self.north


class UploadState(models.TextChoices):
    """States of an upload: it waits for confirmed columns, then a job ingests it."""

    RECEIVED = "received", "Waiting for its columns to be confirmed"
    QUEUED = "queued", "Queued"
    READY = "ready", "Ready"
    FAILED = "failed", "Failed"
    ERASED = "erased", "Deleted, because a person was erased"


class Upload(models.Model):
    """One uploaded file; `raw_name` and `canonical_name` name private files.

    `report` is private: rows read, accepted, and refused by reason. `preview` holds rows; it is
    JSON as text, because column names may contain characters that a database's JSON type refuses.
    `key` is the API key that announced the file, if any.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="uploads")
    file_name = models.CharField(max_length=255)
    size = models.BigIntegerField()
    raw_name = models.CharField(max_length=255)
    canonical_name = models.CharField(max_length=255, blank=True)
    state = models.CharField(
        max_length=10, choices=UploadState.choices, default=UploadState.RECEIVED
    )
    columns = models.JSONField(
        default=dict,
        blank=True,
        help_text="Which column of this file holds what, and how it is written, as confirmed.",
    )
    report = models.JSONField(null=True, blank=True)
    failure = PhraseField(
        blank=True, help_text="Why the file cannot be read, found when it was looked at. Private."
    )
    preview = models.TextField(
        blank=True,
        editable=False,
        help_text="The file's head as JSON, while its columns are to be confirmed. Private.",
    )
    checksum = models.BinaryField(
        max_length=16, null=True, editable=False, help_text="Keyed checksum of the original file."
    )
    erasing = models.BinaryField(
        max_length=16,
        null=True,
        editable=False,
        help_text="Keyed hash of the person whom this version leaves out, until it is made.",
    )
    job = models.OneToOneField(Job, null=True, blank=True, on_delete=models.PROTECT)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    key = models.ForeignKey(
        ApiKey, null=True, editable=False, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.file_name} of {self.dataset}"


class Transfer(models.Model):
    """A file of `size` bytes that was announced and is arriving in pieces.

    Once complete it becomes the upload with the same id. `key` is the API key that announced it, if
    any.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="transfers")
    file_name = models.CharField(max_length=255)
    size = models.BigIntegerField()
    created_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    key = models.ForeignKey(ApiKey, null=True, on_delete=models.SET_NULL, related_name="+")
    touched_at = models.DateTimeField(help_text="When it was announced or bytes were added.")

    def __str__(self) -> str:
        return f"{self.file_name} for {self.dataset}"

    @property
    def offset(self) -> int:
        """Return the number of bytes that have arrived."""
        return int(self.pieces.aggregate(bytes=models.Sum("size"))["bytes"] or 0)


class Piece(models.Model):
    """Bytes of a transfer from `start` on; `stored_name` names a private file."""

    transfer = models.ForeignKey(Transfer, on_delete=models.CASCADE, related_name="pieces")
    start = models.BigIntegerField()
    size = models.BigIntegerField()
    stored_name = models.CharField(max_length=255)

    class Meta:
        ordering = ["start"]
        constraints = [
            models.UniqueConstraint(fields=["transfer", "start"], name="piece_arrives_once")
        ]

    def __str__(self) -> str:
        return f"{self.size} bytes from {self.start}"


class Suppression(models.Model):
    """An erased person, whose rows every later upload of the dataset refuses.

    `person` is the keyed hash that ingestion computes from the identifier; the identifier is not
    stored.
    """

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="suppressions")
    person = models.BinaryField(max_length=16, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["dataset", "person"], name="person_suppressed_once")
        ]

    def __str__(self) -> str:
        return f"A person erased from {self.dataset}"


class LayerKindChoice(models.TextChoices):
    """Kinds of public layers; the values are those of `core.domain.LayerKind`."""

    ZONES = LayerKind.ZONES.value, "Zones: polygons to count in"
    PLACES = LayerKind.PLACES.value, "Places"
    DENSITY = LayerKind.DENSITY.value, "Density"


class PublicLayer(models.Model):
    """Immutable public geometry in addition to the study area, such as wards.

    `stored_name` names a private file: GeoJSON in the form in which it is read again, with its
    `sha256` and the number of `features`. Its provenance is a public source that the publisher
    named, or the published release that the software made it from (`source_release`), or neither.
    """

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="layers")
    name = models.SlugField(max_length=60)
    kind = models.CharField(max_length=10, choices=LayerKindChoice.choices)
    title = models.CharField(max_length=200)
    stored_name = models.CharField(max_length=255)
    sha256 = models.CharField(max_length=64)
    features = models.PositiveIntegerField()
    before_upload = models.BooleanField(
        null=True,
        editable=False,
        help_text="Whether no file of these people was uploaded before; unknown if empty.",
    )
    source_name = models.CharField(max_length=200, blank=True)
    source_url = models.CharField(max_length=500, blank=True)
    source_date = models.DateField(null=True, blank=True)
    source_release = models.CharField(max_length=32, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["dataset", "name"], name="layer_name_once_per_dataset"),
            models.CheckConstraint(
                condition=models.Q(kind__in=LayerKindChoice.values), name="layer_kind_is_known"
            ),
        ]

    def __str__(self) -> str:
        return self.title


class PeopleAnswer(models.Model):
    """An approver's answer to whether a dataset holds people of others; never changed.

    A standing answer holds for later files, too.
    """

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="people_answers")
    reason = models.TextField(blank=True)
    standing = models.BooleanField(default=False)
    who = models.CharField(max_length=200)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-at", "-id"]

    def __str__(self) -> str:
        return f"{self.who} on {self.dataset}"


class PeopleWarning(models.Model):
    """Many of the same people were found in another dataset; without any number. Private.

    `answer` is null until an approver has given a reason for a budget of its own, and again once
    they are found in a later file, unless the answer is standing.
    """

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="people_warnings")
    other = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="+")
    found_at = models.DateTimeField(auto_now_add=True)
    answer = models.ForeignKey(
        PeopleAnswer, null=True, on_delete=models.PROTECT, related_name="warnings"
    )

    class Meta:
        ordering = ["found_at"]
        constraints = [
            models.UniqueConstraint(fields=["dataset", "other"], name="people_warned_of_once")
        ]

    def __str__(self) -> str:
        return f"{self.dataset} and {self.other}"
