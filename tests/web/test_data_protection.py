"""What the public is told about a dataset's processing, and the draft of its impact assessment."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from dpgeo.accounts.models import Role
from dpgeo.datasets.data_protection import data_protection_set
from dpgeo.datasets.models import DataProtection, Dataset
from dpgeo.ingest.schema import Columns
from dpgeo.releases.services import release_publish
from tests.makers import make_ready, make_release, make_user
from tests.web.desk import Desk, make_desk

pytestmark = pytest.mark.django_db

TYPED = {
    "controller": "City of Northaven, Harbour Street 1",
    "purpose": "Planning of cycle lanes.",
    "basis": "task",
    "basis_detail": "Roads Act, section 3",
    "retention": "Rows are deleted after two years.",
    "contact": "privacy@northaven.example",
}


def text_of(page: bytes) -> str:
    """Return the text of the page with the assessment."""
    article = page.decode().partition("<article")[2].partition("</article>")[0]
    return html.unescape(re.sub(r"<[^>]*>", "\n", article))


def stated(desk: Desk, dataset: Dataset, **changes: Any) -> DataProtection:
    return data_protection_set(dataset=dataset, by=desk.user, **{**TYPED, **changes})


def test_what_is_stated_is_public_once_a_map_is(desk: Desk, tmp_path: Path) -> None:
    dataset = desk.declare()
    address = f"/datasets/{dataset.slug}/data-protection/"
    form = f"/desk/datasets/{dataset.slug}/data-protection/"
    assert desk.client.get(address).status_code == 404
    assert desk.client.post(form, TYPED).status_code == 302
    assert "Planning of cycle lanes." in desk.page(form)
    assert "Planning of cycle lanes." in desk.page(address)
    assert Client().get(address).status_code == 404
    make_ready(dataset, tmp_path)
    release, draft = make_release(dataset), make_release(dataset, title="Hidden draft")
    release_publish(release=release, by=desk.user)
    page = Client().get(address).content.decode()
    for words in TYPED.values():
        assert words in page or words == "task"
    assert "Article 6(1)(e)" in page
    assert release.title in page
    assert draft.title not in page
    assert address in Client().get(f"/maps/{release.pk}/privacy/").content.decode()


def test_the_assessment_is_filled_from_declarations_ledger_and_maps(
    desk: Desk, tmp_path: Path
) -> None:
    dataset = desk.declare(description="Rides of <cyclists> & others.")
    stated(desk, dataset)
    make_ready(dataset, tmp_path)
    columns = Columns("Länge", "Breite", "Kunde", encoding="latin-1", position_format="comma")
    dataset.columns = columns.to_json()
    dataset.save()
    release = make_release(dataset, epsilon="0.5")
    release_publish(release=release, by=desk.user)
    make_user(desk.organisation, Role.STEWARD)
    address = f"/desk/datasets/{dataset.slug}/assessment/"
    text = text_of(desk.client.get(address).content)
    for words in (
        *("City of Northaven", "Planning of cycle lanes.", "Roads Act, section 3"),
        *("Rides of <cyclists> & others.", "Steward: 1", "Administrator: 1"),
        *("epsilon 2", "epsilon 0.5", "epsilon 1.5", release.title, "Uniform grid", "Published"),
        "Each person is protected with all their rows together.",
    ):
        assert words in text, words
    assert "Länge, Breite, Kunde" in text
    for words in ("EPSG:4326", "latin-1", "comma"):
        assert words not in text, words
    german = text_of(desk.client.get(f"/de{address}").content)
    assert "Rechtsgrundlage" in german
    other = make_desk("Other house", "other")
    assert other.client.get(address).status_code == 404
