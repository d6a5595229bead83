"""The owners' pages ("the desk"): access, guidance, and forms that keep what was typed."""

from __future__ import annotations

from fractions import Fraction

import pytest
from django.test import Client

from dpgeo.accounts.models import Role
from dpgeo.datasets.models import Dataset
from tests.web.desk import Desk, make_desk

pytestmark = pytest.mark.django_db


def test_a_very_large_budget_is_accepted_with_a_warning() -> None:
    desk = make_desk()
    typed = desk.declaration(budget="20")
    page = desk.client.post("/desk/datasets/new/", typed, follow=True).content.decode()
    assert "promises next to nothing" in page
    usual = desk.client.post("/desk/datasets/new/", desk.declaration(), follow=True)
    assert "promises next to nothing" not in usual.content.decode()


def test_it_asks_strangers_to_sign_in(client: Client) -> None:
    answer = client.get("/desk/")
    assert answer.status_code == 302
    assert answer["Location"] == "/accounts/login/?next=/desk/"


def test_it_tells_people_without_an_organisation_whom_to_ask(desk: Desk) -> None:
    stranger = desk.signed_in("nobody", role=None)
    assert "You belong to no organisation yet" in stranger.get("/desk/").content.decode()
    assert stranger.get("/desk/datasets/new/").status_code == 404


def test_it_declares_a_dataset_and_continues_to_the_upload(desk: Desk) -> None:
    answer = desk.client.post("/desk/datasets/new/", desk.declaration())
    dataset = Dataset.objects.get()
    assert answer["Location"] == f"/desk/datasets/{dataset.slug}/upload/"
    assert dataset.area.bounds == (10.0, 50.0, 10.1, 50.1)
    assert dataset.ledger.total_units == 2_000_000
    page = desk.page("/desk/")
    assert "Invented trips" in page
    assert "the whole budget" in page
    assert "No map yet" in page


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("west", "", "Give the western side in degrees, such as -74.05"),
        ("west", "nan", "Enter a number."),
        ("north", "400.17", "must lie between"),
        ("south", "51", "swap them"),
        ("outline", "{", "not both"),
        ("budget", "0", "Must be greater than zero"),
        ("budget", "much", "is not a number"),
        ("budget", "", "Give the total budget"),
        ("time_zone", "Moon/Crater", "Europe/Berlin"),
        ("public_attributes", "app", "has no colon"),
        ("measures", "speed", "0 to 120 km/h"),
        ("measures", "plz: 0 to 99999", "usual name for a place"),
        ("categories", "mode", "has no colon"),
        ("categories", "device_id: a, b", "identifier"),
    ],
)
def test_it_shows_errors_at_their_fields_and_keeps_the_input(
    desk: Desk, field: str, value: str, message: str
) -> None:
    answer = desk.client.post("/desk/datasets/new/", desk.declaration(**{field: value}))
    assert answer.status_code == 422
    errors = answer.context["form"].errors
    assert any(message in str(error) for found in errors.values() for error in found)
    assert set(errors) <= {field, "west"}
    page = answer.content.decode()
    assert "Trips that nobody made" in page
    if field in ("public_attributes", "measures", "categories"):
        assert f">\n{value}</textarea>" in page
    elif value not in {"", "{"}:
        assert f'value="{value}"' in page
    assert not Dataset.objects.exists()


def test_a_dataset_has_its_own_budget_or_shares_one(desk: Desk) -> None:
    first = desk.declare()
    shared = {"ledger": str(first.ledger.pk)}
    answer = desk.client.post("/desk/datasets/new/", desk.declaration(**shared))
    assert answer.status_code == 422
    desk.client.post("/desk/datasets/new/", desk.declaration(**shared, budget="", title="Other"))
    assert Dataset.objects.get(declaration__title="Other").ledger == first.ledger


def test_it_does_not_offer_the_ledgers_of_others(desk: Desk) -> None:
    theirs = make_desk(name="Other house", owner="other").declare()
    shared = desk.declaration(ledger=str(theirs.ledger.pk), budget="")
    answer = desk.client.post("/desk/datasets/new/", shared)
    assert answer.status_code == 422
    assert "ledger" in answer.context["form"].errors


def test_it_changes_facts_that_are_not_fixed(desk: Desk) -> None:
    dataset = desk.declare()
    address = f"/desk/datasets/{dataset.slug}/edit/"
    assert 'value="Invented trips"' in desk.page(address)
    typed = desk.declaration(title="Renamed", west="9.9", budget="3")
    assert desk.client.post(address, typed)["Location"] == f"/desk/datasets/{dataset.slug}/"
    dataset.refresh_from_db()
    assert dataset.title == "Renamed"
    assert dataset.area.bounds[0] == pytest.approx(9.9)
    assert dataset.ledger.total_units == 3_000_000


def test_a_budget_of_six_decimals_is_proposed_unrounded(desk: Desk) -> None:
    dataset = desk.declare(budget=Fraction("1.234567"))
    form = desk.client.get(f"/desk/datasets/{dataset.slug}/edit/").context["form"]
    assert form["budget"].value() == "1.234567"


def test_it_lets_only_administrators_change_the_budget(desk: Desk) -> None:
    dataset = desk.declare()
    steward = desk.signed_in("steward", role=Role.STEWARD)
    address = f"/desk/datasets/{dataset.slug}/edit/"
    assert "budget" not in steward.get(address).context["form"].fields
    steward.post(address, desk.declaration(budget="50"))
    dataset.refresh_from_db()
    assert dataset.ledger.total_units == 2_000_000


def test_a_steward_uses_a_shared_budget_and_creates_none(desk: Desk) -> None:
    shared = desk.declare().ledger
    steward = desk.signed_in("steward", role=Role.STEWARD)
    refused = steward.post("/desk/datasets/new/", desk.declaration(title="Mint", budget="1000"))
    assert "administrator" in str(refused.context["form"].errors["budget"])
    assert not Dataset.objects.filter(declaration__title="Mint").exists()
    sharing = desk.declaration(title="Sharing", budget="", ledger=str(shared.pk))
    assert steward.post("/desk/datasets/new/", sharing).status_code == 302
    assert Dataset.objects.get(declaration__title="Sharing").ledger == shared


@pytest.mark.parametrize("page", ["", "edit/", "upload/", "map/", "map/cost/", "map/publish/"])
def test_it_does_not_exist_for_members_of_other_organisations(desk: Desk, page: str) -> None:
    dataset = desk.declare(ready=True)
    address = f"/desk/datasets/{dataset.slug}/{page}"
    assert desk.client.get(address).status_code == 200
    stranger = make_desk(name="Other house", owner="other").client
    assert stranger.get(address).status_code == 404
    assert dataset.title not in stranger.get("/desk/").content.decode()


def test_it_lists_only_the_organisations_ledger_entries(desk: Desk) -> None:
    desk.request(desk.declare(ready=True))
    assert "A map (Uniform grid)" in desk.page("/desk/ledger/")
    stranger = make_desk(name="Other house", owner="other")
    assert "A map" not in stranger.page("/desk/ledger/")


def test_a_steward_downloads_the_ledger_and_a_stranger_finds_nothing(desk: Desk) -> None:
    dataset = desk.declare(ready=True)
    desk.request(dataset)
    address = f"/desk/datasets/{dataset.slug}/ledger.csv"
    assert address in desk.page(f"/desk/datasets/{dataset.slug}/")
    answer = desk.signed_in("sue", role=Role.STEWARD).get(address)
    assert answer["Content-Type"].startswith("text/csv")
    assert "no-store" in answer["Cache-Control"]
    head, line = answer.content.decode().splitlines()
    assert head == "at,kind,notion,epsilon,rho,what,who,job"
    assert ",debit," in line
    assert desk.signed_in("nobody", role=None).get(address).status_code == 404
    assert desk.client.post(address).status_code == 405
