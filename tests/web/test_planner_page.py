"""The planner page: which maps it offers, and who may see campaigns (saved sets of tasks)."""

from __future__ import annotations

from fractions import Fraction

import pytest
from django.test import Client
from django.urls import reverse

from dpgeo.crowdsourcing.models import Campaign
from dpgeo.crowdsourcing.requests import NewCampaign
from dpgeo.crowdsourcing.services import campaign_create
from dpgeo.pages.planner import INITIAL
from dpgeo.postprocess.tasks.settings import Conditions
from dpgeo.releases.models import Release
from tests.unit.artefacts.releases import (
    clusters_release,
    contour_release,
    grid_release,
    slices_release,
)
from tests.web.published import install, make_dataset, make_member, make_organisation

pytestmark = pytest.mark.django_db

SETTINGS = {
    "target": 0.9,
    "total_reward": 60.0,
    "willingness": 50.0,
    "least_reward": 1.0,
    "travel_metres": 3000.0,
    "worker_share": 1.0,
}


def keep(release: Release, *, shared: bool) -> Campaign:
    organisation = make_organisation()
    return campaign_create(
        organisation=organisation,
        release=release,
        request=NewCampaign.read(
            {
                "release": release.pk,
                "name": "Lamps",
                "tasks": [{"longitude": 4.56, "latitude": 52.2}],
                "settings": SETTINGS,
                "shared": shared,
            }
        ),
        created_by=make_member(organisation, f"keeper-{shared}"),
    )


def test_it_offers_published_maps_of_cells_contours_first(client: Client) -> None:
    dataset = make_dataset(budget=Fraction(8))
    grid = install(dataset, grid_release())
    contours = install(dataset, contour_release())
    install(dataset, clusters_release())
    install(dataset, slices_release())
    draft = install(dataset, contour_release(), published=False)
    page = client.get(reverse("plan"))
    assert [each.pk for each in page.context["offered"]] == [contours.pk, grid.pk]
    assert page.context["release"] == contours
    assert draft.pk not in page.content.decode()
    chosen = client.get(reverse("plan"), {"release": grid.pk})
    assert chosen.context["release"] == grid


def test_unsuitable_maps_are_not_found(client: Client) -> None:
    dataset = make_dataset()
    points = install(dataset, clusters_release())
    draft = install(dataset, contour_release(), published=False)
    withdrawn = install(dataset, contour_release(), withdrawn=True)
    for each in (points.pk, draft.pk, withdrawn.pk, "nothing"):
        assert client.get(reverse("plan"), {"release": each}).status_code == 404


def test_members_open_a_campaign_and_anybody_a_shared_one(client: Client) -> None:
    release = install(make_dataset(), contour_release())
    shared, own = keep(release, shared=True), keep(release, shared=False)
    assert client.get(reverse("plan"), {"campaign": shared.pk}).status_code == 200
    assert client.get(reverse("plan"), {"campaign": own.pk}).status_code == 404
    assert own.created_by
    client.force_login(own.created_by)
    page = client.get(reverse("plan"), {"campaign": own.pk})
    assert page.status_code == 200
    assert "Save this plan as" in page.content.decode()


def test_strangers_neither_see_nor_change_campaigns(client: Client) -> None:
    release = install(make_dataset(), contour_release())
    campaign = keep(release, shared=True)
    change = reverse("desk-campaign-change", args=[campaign.pk])
    delete = reverse("desk-campaign-delete", args=[campaign.pk])
    assert client.get(reverse("desk-campaigns")).status_code == 302
    assert client.post(delete).status_code == 302
    client.force_login(make_member(make_organisation("other-town"), "other"))
    assert "Lamps" not in client.get(reverse("desk-campaigns")).content.decode()
    assert client.post(change, {"name": "Mine"}).status_code == 404
    assert client.post(delete).status_code == 404
    assert Campaign.objects.get().name == "Lamps"


def test_the_form_asks_for_conditions_as_the_api_declares_them(client: Client) -> None:
    install(make_dataset(), contour_release())
    page = client.get(reverse("plan")).content.decode()
    assert 'id="travel_metres" name="travel_metres" type="number" min="0" max="200000"' in page
    for name in INITIAL:
        field = Conditions.model_fields[name]
        assert f'<label class="label" for="{name}">{field.title}</label>' in page
        assert f'<p class="hint">{field.description}</p>' in page
