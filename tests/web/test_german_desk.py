"""The owners' pages in German, one by one; API clients still get English."""

from __future__ import annotations

import gettext as gettext_module
import io
import json
import re
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.utils import translation

from dpgeo.accounts.models import Scope
from dpgeo.accounts.services import key_create
from dpgeo.crowdsourcing.requests import NewCampaign
from dpgeo.crowdsourcing.services import campaign_create
from dpgeo.datasets.layer_declaration import PublicSource
from dpgeo.datasets.layers import public_layer_add
from dpgeo.datasets.models import UploadState
from dpgeo.datasets.uploads import upload_receive
from dpgeo.jobs.phrase_field import read_phrase
from dpgeo.releases.services import release_publish, release_run
from tests.makers import SOURCE
from tests.web.api import AREA
from tests.web.desk import Desk, invented_rows, make_desk
from tests.web.test_languages import readable
from tests.web.test_planner_page import SETTINGS

pytestmark = pytest.mark.one_database


WARDS = {
    "type": "FeatureCollection",
    "features": [{"type": "Feature", "id": "1", "properties": {}, "geometry": AREA}],
}


@pytest.fixture
def desk() -> Desk:
    """Make an organisation with a steward; their names are not English words."""
    return make_desk("Haus", "inhaber")


@pytest.fixture
def german() -> Iterator[None]:
    """Set the site's language to German, as DPGEO_LANGUAGE=de does."""
    with translation.override("de"):
        yield


def everything(desk: Desk) -> dict[str, tuple[str, str]]:
    """Return every page of an owner who has content, and German words that each must contain."""
    dataset = desk.declare(title="Wege", ready=True)
    dataset_page = f"/desk/datasets/{dataset.slug}/"
    public_layer_add(
        dataset=dataset,
        name="bezirke",
        kind="zones",
        title="Bezirke",
        file=io.BytesIO(json.dumps(WARDS).encode()),
        created_by=desk.user,
        provenance=PublicSource.read(SOURCE),
    )
    published = desk.request(dataset, title="Karte eins")
    assert release_run(release_id=published.pk)
    published.refresh_from_db()
    release_publish(release=published, by=desk.user)
    draft = desk.request(dataset, title="Karte zwei")
    assert release_run(release_id=draft.pk)
    waiting = desk.request(dataset, title="Karte drei")
    file = io.BytesIO(invented_rows().encode())
    received = upload_receive(dataset=dataset, file=file, file_name="neu.csv", created_by=desk.user)
    key_create(
        organisation=desk.organisation,
        name="nachts",
        scopes=[Scope.JOBS_READ],
        created_by=desk.user,
    )
    campaign_create(
        organisation=desk.organisation,
        release=published,
        request=NewCampaign.read(
            {
                "release": published.pk,
                "name": "Herbst",
                "tasks": [{"longitude": 10.05, "latitude": 50.05}],
                "settings": SETTINGS,
            }
        ),
        created_by=desk.user,
    )
    read = dataset.uploads.get(state=UploadState.READY)
    asked = "mechanism=uniform-grid&parameters.cells=8&epsilon=0.5&bound=3"
    guessed = "&guess.people=100&guess.records=20&guess.share=0.01"
    return {
        "home": ("/desk/", "Was Sie noch veröffentlichen dürfen"),
        "ledger": ("/desk/ledger/", "Was ausgegeben wurde, wofür, von wem und wann."),
        "keys": ("/desk/keys/", "Den Schlüssel machen"),
        "campaigns": ("/desk/campaigns/", "Name und Freigabe"),
        "new dataset": ("/desk/datasets/new/", "Wer geschützt wird"),
        "change dataset": (f"{dataset_page}edit/", "Wege ändern"),
        "dataset": (dataset_page, "Hochgeladene Dateien"),
        "layers": (f"{dataset_page}layers/", "Öffentliche Ebenen"),
        "new upload": (f"{dataset_page}upload/", "Niemand außerhalb kann sie je abrufen."),
        "upload": (f"/desk/uploads/{read.pk}/", "wird der Bericht nicht gezeigt"),
        "columns": (f"/desk/uploads/{received.pk}/", "So haben wir Ihre Datei gelesen"),
        "kinds": (f"{dataset_page}map/", "Was soll die Karte zeigen?"),
        "cost": (f"{dataset_page}map/cost/?{asked}{guessed}", "Orte, an denen eine Person gezählt"),
        "publish": (f"{dataset_page}map/publish/?{asked}", "ausgeben und veröffentlichen"),
        "draft": (f"/desk/releases/{draft.pk}/", "Den Entwurf der Karte ansehen"),
        "release": (f"/desk/releases/{published.pk}/", "Ihre Dateien werden nicht mehr"),
        "running": (f"/desk/releases/{waiting.pk}/", "0,5 dafür ist zurückgehalten"),
    }


def english_in(said: str) -> list[str]:
    """Return those English sentences of the catalogue that a German page contains."""
    catalogue = gettext_module.translation("django", settings.LOCALE_PATHS[0], ["de"])
    said = " ".join(said.split())
    found = []
    for key, translated in catalogue._catalog.items():  # type: ignore[attr-defined]
        text = key[0] if isinstance(key, tuple) else key
        # Ignore short texts, which can also occur in German sentences, and texts that are the same
        # in German.
        for piece in re.split(r"%\(\w+\)s|{\w+}|<[^>]+>", text.replace("%%", "%")):
            english = piece.strip(" .,:;“”()")
            known = len(english) > 9 and " " in english and english not in translated
            if known and english in said and re.search(rf"(?<!\w){re.escape(english)}(?!\w)", said):
                found.append(english)
    return found


@pytest.mark.django_db
def test_the_desk_speaks_german_on_every_page(desk: Desk) -> None:
    desk.confirmed()
    pages = everything(desk)
    for name, (address, german) in pages.items():
        answer = desk.client.get(f"/de{address}")
        assert answer.status_code == 200, name
        text = readable(answer.content.decode())
        assert german in " ".join(text.split()), (name, text)
        assert english_in(text) == [], name


@pytest.mark.parametrize(
    "text",
    [
        '{"template": "It holds a {type!r}.", "values": {"type": null}}',
        '{"template": "Lacks {name}.", "values": {"other": "x"}}',
        '{"template": ',
        '{"template": {"template": ' * 2500,
        "The file has no column lon.",
    ],
)
def test_a_stored_text_that_is_no_phrase_is_shown_as_it_is(text: str) -> None:
    """A stored text that is not a `Phrase` in stored form is shown unchanged.

    Settling the ledger reads rows with such texts, so reading them must never fail.
    """
    assert str(read_phrase(text)) == text
