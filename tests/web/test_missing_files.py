"""Files that the storages have lost: readers get 404, the operator is told, and the rest works."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.core.cache import cache
from django.core.files.base import ContentFile
from django.test import Client
from django.urls import URLPattern, get_resolver

import dpgeo
from dpgeo.accounts.models import Membership, Role, User
from dpgeo.artefacts import map_array, preview, statement
from dpgeo.artefacts.series_files import ARRAY, LONG
from dpgeo.datasets.models import MissingFile
from dpgeo.datasets.orphan_files import stored_names
from dpgeo.datasets.storage import private_storage, public_storage
from dpgeo.jobs.models import Alert
from dpgeo.releases.alerts import alerts_send
from dpgeo.releases.file_making import file_make
from dpgeo.releases.missing_files import named_files
from dpgeo.releases.models import Release, ReleaseFile
from dpgeo.spatial.area import StudyArea
from tests.maps import BOUNDS, grid_release
from tests.series_maps import install_series
from tests.storages import use_empty_storages

pytestmark = pytest.mark.django_db

BOX = ",".join(map(str, BOUNDS))


@pytest.fixture
def release(tmp_path: Path, settings: Any) -> Release:
    """Return the newest map of a published series with all its files, in storages of its own."""
    cache.clear()
    use_empty_storages(settings, tmp_path)
    series = install_series(grid_release(StudyArea.from_bounds(*BOUNDS), 16), 2)
    newest = series.releases.order_by("-number").first()
    assert newest is not None
    for file in newest.files.filter(stored_name=""):
        file_make(file)
    return newest


@pytest.fixture
def owner(release: Release) -> Client:
    """Return the browser of a member who may do everything with the release."""
    user = User.objects.create_user("ann")
    Membership.objects.create(
        user=user, organisation=release.dataset.organisation, role=Role.ADMINISTRATOR
    )
    client = Client()
    client.force_login(user)
    return client


def patterns(resolver: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path, with placeholders, and the name of every address of the site."""
    for each in resolver.url_patterns:
        if isinstance(each, URLPattern):
            yield prefix + str(each.pattern), each.name or ""
        elif each.app_name != "admin":
            yield from patterns(each, prefix + str(each.pattern))


def addresses(release: Release) -> set[str]:
    """Return every address of the site that can be filled in for a release."""
    layers = sorted({file.kind.layer for file in release.files.all() if file.kind.layer})
    facts = {
        "release_id": [release.pk],
        "series_id": [str(release.series_id)],
        "slug": [release.dataset.slug],
        "upload_id": [str(release.upload_id)],
        "collection_id": [
            *(f"{release.pk}.{layer}" for layer in layers),
            f"series.{release.series_id}",
        ],
        "layer": layers,
        **{each: ["0"] for each in ("z", "x", "y", "feature_id")},
    }
    files = [file.name for file in release.files.all()]
    names = {"release-file": files, "file": files, "series-file": [ARRAY, *LONG]}
    found = set()
    for path, name in patterns(get_resolver()):
        filled = [path]
        for placeholder in re.findall(r"<[^>]+>", path):
            key = placeholder.strip("<>").rpartition(":")[2]
            values = names.get(name, []) if key == "name" else facts.get(key, [])
            filled = [each.replace(placeholder, value) for each in filled for value in values]
        found |= {f"/{each}" for each in filled}
    queried = {
        f"/api/v1/releases/{release.pk}/query?bbox={BOX}",
        f"/oembed?url=http://testserver/maps/{release.pk}/",
    }
    return found | queried


def lose(*, private: bool, public: bool) -> None:
    """Delete all files of a storage, as a broken disk would."""
    for storage, lost in ((private_storage(), private), (public_storage(), public)):
        for name in list(stored_names(storage, "")) if lost else ():
            storage.delete(name)


@pytest.mark.parametrize(
    "lost",
    [
        {"private": True, "public": True},
        {"private": False, "public": True},
    ],
    ids=["all", "public"],
)
def test_no_address_of_the_site_fails_for_a_missing_file(
    release: Release, owner: Client, lost: dict[str, bool]
) -> None:
    asked = addresses(release)
    assert len(asked) > 100
    lose(**lost)
    failed: dict[tuple[str, str], object] = {}
    for who, client in (("stranger", Client()), ("owner", owner)):
        for address in sorted(asked):
            cache.clear()
            heads = address.startswith(("/api/", "/ogc/"))
            for method in (client.get, client.head) if heads else (client.get,):
                try:
                    answer = method(address)
                except Exception as error:  # the test client raises what would be a 500
                    failed[who, address] = repr(error)
                    continue
                if answer.status_code >= 500:
                    failed[who, address] = answer.status_code
    assert not failed


def test_whoever_asks_for_a_missing_file_is_told_so_in_every_form(release: Release) -> None:
    page, base = f"/maps/{release.pk}/", f"/api/v1/releases/{release.pk}"
    names = [each.name for each in release.files.exclude(stored_name="")]
    assert {statement.NAME, map_array.NAME, preview.NAME} <= set(names)
    lose(private=True, public=True)
    documents = [f"{base}/files/{name}" for name in names]
    documents += [
        f"{base}/spreadsheet/cells",
        f"{base}/tiles/cells.json",
        f"{base}/styles/cells.json",
    ]
    documents += [f"{base}/query?bbox={BOX}", f"/ogc/collections/{release.pk}.cells/items"]
    documents += [f"/api/v1/series/{release.series_id}/files/{ARRAY}"]
    client = Client()
    for address in documents:
        answer = client.get(address)
        assert (answer.status_code, answer["Cache-Control"]) == (404, "no-store"), address
        assert answer.json()["type"] == "/api/docs#file-missing", address
        assert "operator" in answer.json()["detail"]
        assert client.head(address).status_code == 404, address
    for address in (
        page,
        f"{page}privacy/",
        f"/embed/{release.pk}/",
        f"/series/{release.series_id}/",
    ):
        cache.clear()
        answer = client.get(address)
        assert answer.status_code == 404
        assert "The operator of this site has been told" in answer.content.decode()
    assert "The operator" not in client.get("/maps/nothing/").content.decode()


def test_the_lists_show_a_map_whose_files_are_missing(release: Release) -> None:
    Release.objects.update(card={})
    lose(private=True, public=True)
    for address in ("/", "/feed.atom", "/api/v1/releases", "/ogc/collections", "/sitemap.xml"):
        answer = Client().get(address)
        assert answer.status_code == 200
        assert "The operator" not in answer.content.decode()
    assert release.pk in Client().get("/").content.decode()


def test_the_operator_is_told_of_a_missing_file_once_and_without_its_name(
    release: Release, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.DPGEO_ALERT_MAIL = ["operators@example.org"]
    alerts_send()
    mail.outbox.clear()
    file = release.files.get(name=statement.NAME)
    content = public_storage().open(file.stored_name).read()
    public_storage().delete(file.stored_name)
    for _ in range(3):
        Client().get(f"/api/v1/releases/{release.pk}/files/{statement.NAME}")
    assert MissingFile.objects.get().name == file.stored_name
    assert [each.message for each in caplog.records if file.stored_name in each.message] == [
        f"The stored file {file.stored_name} is missing; restore it from a backup"
    ]
    assert alerts_send() == 1
    assert alerts_send() == 0
    [message] = mail.outbox
    assert "Stored files are missing" in message.body
    assert statement.NAME not in message.body
    public_storage().save(file.stored_name, ContentFile(content))
    alerts_send()
    assert not MissingFile.objects.exists()
    assert Alert.objects.get(name="files").level == 0


def test_a_file_that_no_row_names_any_more_is_no_cause_for_an_alert(
    release: Release, settings: Any
) -> None:
    settings.DPGEO_ALERT_MAIL = ["operators@example.org"]
    alerts_send()
    MissingFile.objects.create(name="artefacts/moved", public=False)
    assert alerts_send() == 0
    assert not MissingFile.objects.exists()


def test_an_unrecorded_loss_is_still_an_answer(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database that cannot be written does not turn the 404 into an error."""
    from django.db import OperationalError

    def read_only(*_: Any, **__: Any) -> None:
        raise OperationalError("attempt to write a readonly database")

    lose(private=True, public=True)
    monkeypatch.setattr(MissingFile.objects, "get_or_create", read_only)
    assert Client().get(f"/api/v1/releases/{release.pk}/query?bbox={BOX}").status_code == 404


OPENS_LISTED = {
    "commands/backup.py",
    "commands/restoration.py",
    "datasets/decisions.py",
    "datasets/storage.py",
    "releases/blobs.py",
    "releases/reconciliation.py",
    "releases/series_state.py",
}
"""Modules that open stored files which they have just listed or stored, or handle their absence."""


def test_stored_files_that_rows_name_are_opened_by_the_functions_that_report_their_loss() -> None:
    package = Path(dpgeo.__file__).parent
    opening = re.compile(r"storage(?:\(\))?\.open\(")
    found = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if opening.search(path.read_text())
    }
    assert found == OPENS_LISTED


def test_every_stored_name_of_a_release_is_known(release: Release) -> None:
    named = set(named_files())
    stored = {(False, name) for name in stored_names(private_storage(), "")}
    stored |= {(True, name) for name in stored_names(public_storage(), "")}
    assert stored <= named
    assert ReleaseFile.objects.filter(gzipped=True).exists()
