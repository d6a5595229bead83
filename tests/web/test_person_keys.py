"""The key for hashing persons, which is stored apart from the database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.checks import run_checks

from dpgeo.core.errors import Conflict
from dpgeo.datasets.ingest_job import upload_ingest
from dpgeo.datasets.models import UploadState
from dpgeo.datasets.person_keys import make_key_file, unseal
from dpgeo.datasets.uploads import upload_confirm
from dpgeo.ingest.schema import Columns
from tests.makers import make_dataset, make_received

pytestmark = pytest.mark.django_db

COLUMNS = Columns(longitude="lon", latitude="lat", person="who")


@pytest.fixture
def key_file(settings: Any, tmp_path: Path) -> Path:
    """Return the path of a key file that does not exist yet."""
    settings.PERSON_KEY_FILE = str(tmp_path / "person-key")
    return tmp_path / "person-key"


def problems() -> list[str]:
    return [each.id or "" for each in run_checks() if (each.id or "").startswith("dpgeo.")]


def test_the_key_file_is_made_once_and_readable_only_by_its_owner(key_file: Path) -> None:
    first = make_dataset()
    text = key_file.read_text()
    make_key_file()
    second = make_dataset()
    assert key_file.stat().st_mode & 0o777 == 0o600
    assert (key_file.read_text(), len(text)) == (text, 64)
    assert list(key_file.parent.iterdir()) == [key_file]
    keys = {unseal(bytes(each.sealed_person_key)) for each in (first, second)}
    assert len(keys) == 2
    assert problems() == []


def test_a_key_that_others_may_read_is_refused(key_file: Path) -> None:
    dataset = make_dataset()
    key_file.chmod(0o640)
    assert problems() == ["dpgeo.E002"]
    with pytest.raises(Conflict, match="key of the person hashes"):
        unseal(bytes(dataset.sealed_person_key))


def test_no_key_is_made_beside_datasets_that_a_lost_one_has_sealed(key_file: Path) -> None:
    make_dataset()
    key_file.unlink()
    with pytest.raises(Conflict, match="missing"):
        make_dataset()
    assert not key_file.exists()


def test_a_file_is_read_with_the_right_key_alone(key_file: Path, settings: Any) -> None:
    dataset = make_dataset()
    upload = make_received(dataset)
    settings.PERSON_KEY = "another installation's key, of 40 letters"
    upload_confirm(upload=upload, columns=COLUMNS)
    upload_ingest(upload_id=upload.pk)
    upload.refresh_from_db()
    assert (upload.state, upload.canonical_name) == (UploadState.FAILED, "")
    assert upload.job is not None
    assert "not the one that this dataset was declared with" in str(upload.job.failure)
    settings.PERSON_KEY = ""
    upload_confirm(upload=upload, columns=COLUMNS)
    upload_ingest(upload_id=upload.pk)
    upload.refresh_from_db()
    assert upload.state == UploadState.READY


def test_a_short_setting_is_refused(settings: Any) -> None:
    settings.PERSON_KEY = "short"
    assert problems() == ["dpgeo.E001"]
