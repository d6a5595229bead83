"""Tables of datasets, of their uploads with private reports, and of their public layers."""

from __future__ import annotations

import uuid
from datetime import date
from fractions import Fraction
from typing import Any, Generic, Self, TypeVar, overload

from django.db import models

from dpgeo.accounts.models import ApiKey, Organisation, User
from dpgeo.budgets.models import Ledger
from dpgeo.core.attributes import Attribute
from dpgeo.core.categories import Category
from dpgeo.core.domain import LayerKind
from dpgeo.core.epsilon import format_epsilon
from dpgeo.core.guarantees import Unit
from dpgeo.core.levels import Level
from dpgeo.core.measures import Measure
from dpgeo.datasets.declaration import Declaration, NewFiles
from dpgeo.datasets.declared_field import DeclaredField
from dpgeo.jobs.models import Job
from dpgeo.jobs.phrase_field import PhraseField
from dpgeo.phrases import Figure, Phrase
from dpgeo.spatial.area import StudyArea

T = TypeVar("T")


class Declares(Generic[T]):
    """An attribute of a dataset that its declaration states, by default under the same name."""

    def __init__(self, name: str = "") -> None:
        self._name = name

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = self._name or name

    @overload
    def __get__(self, dataset: None, owner: type) -> Self: ...
    @overload
    def __get__(self, dataset: Dataset, owner: type) -> T: ...
    def __get__(self, dataset: Dataset | None, owner: type) -> Any:
        """Return what the dataset's declaration states."""
        return self if dataset is None else getattr(dataset.declaration, self._name)


class Dataset(models.Model):
    """A private table of locations; its declaration is public.

    Some of it cannot change after the first upload is confirmed (`frozen_at`). Once
    the first bytes have arrived (`first_upload_at`), the study area can only be exchanged for a
    named place, and layers need a provenance. `first_upload_at` stays even if the file is deleted,
    and is copied to datasets that share the budget. `west` to `north` are the sides of the study
    area's bounding box in degrees; they exist so that lists and searches need not read the area's
    vertices, of which there can be 20,000.
    """

    slug = models.SlugField(unique=True, max_length=80)
    organisation = models.ForeignKey(
        Organisation, on_delete=models.PROTECT, related_name="datasets"
    )
    declaration = DeclaredField(Declaration, help_text="What its owner declares about it. Public.")
    west = models.FloatField(editable=False)
    south = models.FloatField(editable=False)
    east = models.FloatField(editable=False)
    north = models.FloatField(editable=False)
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
    area_seen = models.JSONField(
        default=dict,
        blank=True,
        editable=False,
        help_text="How often members had opened files beside other areas before, and when last.",
    )
    guessed_people = models.PositiveIntegerField(
        null=True,
        editable=False,
        help_text="How many people the owner last guessed to be in the data. Private.",
    )
    area_choice = models.JSONField(
        default=dict,
        blank=True,
        editable=False,
        help_text="How the first study area was chosen: a named place, or drawn by hand.",
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
    people_asked = models.BooleanField(
        default=False,
        editable=False,
        help_text="An approver has to answer whether other datasets hold the same people.",
    )

    title = Declares[str]()
    description = Declares[str]()
    licence = Declares[str]()
    attribution = Declares[str]()
    contact = Declares[str]()
    keywords = Declares[tuple[str, ...]]()
    themes = Declares[tuple[str, ...]]()
    covers_from = Declares[date | None]()
    covers_until = Declares[date | None]()
    unit = Declares[Unit]()
    row_noun = Declares[str]()
    new_files = Declares[NewFiles]()
    study_area = Declares[dict[str, Any]]()
    area = Declares[StudyArea]()
    time_zone = Declares[str]()
    keep_raw = Declares[bool]()
    attributes = Declares[tuple[Attribute, ...]]("public_attributes")
    public_attributes = attributes
    measured = Declares[tuple[Measure, ...]]("measures")
    measures = measured
    categorised = Declares[tuple[Category, ...]]("categories")
    categories = categorised

    class Meta:
        ordering = ["declaration__title"]

    def __str__(self) -> str:
        return self.title

    @property
    def grows(self) -> bool:
        """Whether further files are added to the data, instead of replacing them."""
        return self.new_files is NewFiles.APPEND

    @property
    def contact_address(self) -> str:
        """Return the e-mail address for readers, or "" if there is none."""
        return self.contact or self.organisation.contact

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """Return the west, south, east and north sides of the study area in degrees."""
        return self.west, self.south, self.east, self.north


class LegalBasis(models.TextChoices):
    """Legal basis of the processing, by the points of Article 6(1) GDPR."""

    CONSENT = "consent", "Consent (Article 6(1)(a) GDPR)"
    CONTRACT = "contract", "A contract (Article 6(1)(b) GDPR)"
    OBLIGATION = "obligation", "A legal obligation (Article 6(1)(c) GDPR)"
    VITAL = "vital", "Vital interests (Article 6(1)(d) GDPR)"
    TASK = "task", "A task in the public interest (Article 6(1)(e) GDPR)"
    INTEREST = "interest", "Legitimate interests (Article 6(1)(f) GDPR)"
    OTHER = "other", "Another law"


class DataProtection(models.Model):
    """What the owner of a dataset tells the people in it about the processing. All of it is public.

    It is written by people and never filled in from the data.
    """

    dataset = models.OneToOneField(
        Dataset, on_delete=models.CASCADE, related_name="data_protection"
    )
    controller = models.CharField(max_length=300)
    purpose = models.TextField()
    basis = models.CharField(max_length=20, choices=LegalBasis.choices)
    basis_detail = models.TextField(blank=True)
    retention = models.TextField()
    contact = models.CharField(max_length=300)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(basis__in=LegalBasis.values), name="legal_basis_is_known"
            )
        ]
        verbose_name_plural = "data protection"

    def __str__(self) -> str:
        return f"Data protection of {self.dataset}"


class Proposal(models.Model):
    """A budget that one person asked for and another has to approve, where that is required.

    `epsilon` is the total of the budget for counts; or `level` and `radius` are those of the budget
    for points. `asked_by` is null for the operator at the console. `approved`
    is null until somebody has decided; a newer proposal for the same budget sets it to false.
    """

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="proposals")
    epsilon = models.DecimalField(null=True, max_digits=12, decimal_places=6)
    level = models.CharField(max_length=100, blank=True)
    radius = models.PositiveIntegerField(null=True)
    asked_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    asked_at = models.DateTimeField(auto_now_add=True)
    approved = models.BooleanField(null=True)
    decided_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    decided_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["asked_at"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(epsilon__isnull=False, level="", radius=None)
                | models.Q(epsilon=None, radius__isnull=False) & ~models.Q(level=""),
                name="proposal_for_one_budget",
            ),
            models.CheckConstraint(
                condition=~models.Q(approved=True, asked_by=models.F("decided_by")),
                name="proposal_approved_by_another",
            ),
        ]

    def __str__(self) -> str:
        return f"Budget of {self.dataset}"

    @property
    def total(self) -> Fraction | Level:
        """The proposed total: an epsilon for counts, or a level with its radius for points."""
        if self.radius is not None:
            return Level(self.level, self.radius)
        return Fraction(self.epsilon or 0)

    @property
    def words(self) -> Phrase:
        """The proposed total of the budget in words."""
        total = self.total
        if isinstance(total, Fraction):
            return Phrase("epsilon {epsilon}", epsilon=Figure(format_epsilon(total)))
        return Phrase(
            "level {level} within {radius:,} m", level=Figure(total.text), radius=total.radius
        )


class UploadState(models.TextChoices):
    """States of an upload: first its columns have to be confirmed, then a job ingests it."""

    RECEIVED = "received", "Waiting for its columns to be confirmed"
    QUEUED = "queued", "Queued"
    READY = "ready", "Ready"
    FAILED = "failed", "Failed"
    ERASED = "erased", "Deleted, because a person was erased"


class Upload(models.Model):
    """One uploaded file, or a snapshot of a registered folder or table, which has a `source`.

    `raw_name` and `canonical_name` name files in the private storage. A snapshot has no raw file,
    and no canonical one if its rows must not be copied.

    `report` is private: it counts the rows that were read, that were accepted, and that were
    rejected for each reason. `preview` contains rows; it is JSON stored as text, because column
    names may contain characters that a database's JSON type does not allow. `key` is the API key
    with which the upload was begun, if any. `version` numbers the files of a dataset that grows, in
    the order in which they became ready; it is 0 in other datasets (`datasets.versions`).
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
    source = models.JSONField(
        default=dict,
        blank=True,
        editable=False,
        help_text="The registered folder and its files, of a snapshot (`datasets.snapshots`).",
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
    version = models.PositiveIntegerField(
        default=0,
        editable=False,
        help_text="Its place in the order in which the files of a growing dataset became ready.",
    )
    invented = models.BooleanField(
        default=False, editable=False, help_text="The file has invented people, to practise with."
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

    @property
    def is_kept(self) -> bool:
        """Whether the original file, or the registered folder, can still be read again."""
        return bool(self.raw_name or self.source)


class Transfer(models.Model):
    """A file of `size` bytes, a number stated in advance, that is arriving in pieces.

    Once complete, it becomes the upload with the same id. `key` is the API key with which the
    transfer was begun, if any.
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
    """A contiguous run of a transfer's bytes from `start` on, in the private file `stored_name`."""

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
    """An erased person, whose rows every later upload of the dataset rejects.

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


class PublicLayer(models.Model):
    """Immutable public geometry in addition to the study area, such as wards.

    `stored_name` names a private file: the GeoJSON from which the layer is read back. `sha256` is
    the file's checksum, and `features` the number of its features. The layer comes from a public
    source that the publisher named, from a published release from which the software made it
    (`source_release`), or has no stated provenance.
    """

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="layers")
    name = models.SlugField(max_length=60)
    kind = models.CharField(max_length=10)
    title = models.CharField(max_length=200)
    stored_name = models.CharField(max_length=255)
    sha256 = models.CharField(max_length=64)
    features = models.PositiveIntegerField()
    before_upload = models.BooleanField(
        editable=False, help_text="Whether no file of these people was uploaded before."
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
                condition=models.Q(kind__in=[*map(str, LayerKind)]), name="layer_kind_is_known"
            ),
        ]

    def __str__(self) -> str:
        return self.title


class ShownFile(models.Model):
    """A private record that a member opened the page of a file, which shows the file's rows.

    There is one record for each dataset and study area for which this happened. It stays when the
    dataset is discarded, so that statements of later datasets can mention it. `dataset` is the id
    of a dataset that may no longer exist, `area` a digest of its study area at that time, and `on`
    the last day on which a page was opened. Nothing here depends on the content of files
    (`shown_files`).
    """

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="+")
    dataset = models.BigIntegerField()
    area = models.CharField(max_length=64)
    on = models.DateField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "dataset", "area"], name="shown_file_once"
            )
        ]

    def __str__(self) -> str:
        return f"Shown on {self.on}"


class PeopleAnswer(models.Model):
    """An approver's answer on whether a dataset holds people of other datasets.

    It never changes. A standing answer also applies to later files.
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
    """A private warning that another dataset holds many of the same people, without a number.

    `answer` is null until an approver has given a reason why the dataset has a budget of its own.
    It becomes null again if the same people are found in a later file, unless it is a standing
    answer, which also applies to later files.
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


class MissingFile(models.Model):
    """A stored file that a row names but that its storage does not have (`missing_files`).

    `public` says whether it belongs to the storage of published files.
    """

    name = models.CharField(max_length=300)
    public = models.BooleanField()
    found_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["name", "public"], name="missing_file_recorded_once")
        ]

    def __str__(self) -> str:
        return self.name
