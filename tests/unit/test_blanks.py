"""Blanks around names: one set of characters, wherever a name is read."""

from __future__ import annotations

import sys
import unicodedata

import pyarrow as pa
import pytest

from dpgeo.blanks import BLANKS, trim
from dpgeo.core.attributes import Attribute
from dpgeo.datasets.declaration import Declaration
from dpgeo.datasets.texts import clean_text
from dpgeo.ingest.attributes import code_values
from dpgeo.ingest.position_formats import split_pairs
from dpgeo.ingest.text import trimmed
from dpgeo.spatial.gazetteer import read_gazetteer
from dpgeo.spatial.place_keys import number_of_key
from dpgeo.spatial.places import Places

EVERYTHING = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]


def test_every_space_separator_and_control_character_of_unicode_is_a_blank() -> None:
    spaces = {sign for sign in EVERYTHING if unicodedata.category(sign) in {"Zs", "Zl", "Zp", "Cc"}}
    assert len(spaces) > 15
    spaces |= {sign for sign in EVERYTHING if sign.isspace()}
    assert spaces - set(BLANKS) == set()
    pasted = "\u200b\u200c\u200d\u200e\u200f\u202a\u202c\u2060\u2066\u2069\ufeff\u00ad\u061c\u180e"
    assert set(pasted) - set(BLANKS) == set()


def test_no_visible_character_is_a_blank() -> None:
    assert len(set(BLANKS)) == len(BLANKS)
    kinds = {unicodedata.category(sign) for sign in BLANKS if sign != "\u2065"}
    assert kinds == {"Zs", "Zl", "Zp", "Cc", "Cf"}
    assert unicodedata.category("\u2065") == "Cn"
    assert trim("\u0600") == "\u0600", "a format character that is seen"


def test_arrow_trims_every_character_as_python_does() -> None:
    texts = [text for sign in EVERYTHING for text in (f"{sign}a{sign}", f"{sign} {sign}")]
    assert trimmed(pa.array(texts)).to_pylist() == list(map(trim, texts))


def test_the_composed_form_of_a_trimmed_name_has_no_blanks_around_it() -> None:
    for sign in EVERYTHING:
        composed = unicodedata.normalize("NFC", trim(sign))
        assert trim(composed) == composed


@pytest.mark.parametrize("blank", ["\u00a0", "\u202f", "\u3000", "\ufeff", "\u200b", "\u2060"])
def test_places_categories_and_texts_have_no_blanks_around_them(blank: str) -> None:
    around = f"{blank}bus{blank}"
    assert number_of_key(around) == number_of_key("bus")
    lists = Declaration.changes()
    typed = f"{blank}mode{blank} ={blank}Mode: {around},{blank}"
    for category in (typed, {"column": around, "values": [around]}):
        [declared] = lists.read({"categories": [category]}).given()["categories"]
        assert declared.values == ("bus",)
        assert declared.column in ("bus", "mode")
    for attribute in (f"{blank}app: {around}", {"column": "app", "values": [around]}):
        declared = lists.read({"public_attributes": [attribute]}).given()["public_attributes"]
        assert declared == (Attribute("app", ("bus",)),)
    assert code_values(pa.array([around, "tram"]), ["bus"]).tolist() == [0, 1]
    assert clean_text(around, field="title", longest=3) == "bus"
    first, second = split_pairs(pa.array([f"{blank}(52.5,{blank}13.4){blank}"]))
    assert (first.to_pylist(), second.to_pylist()) == (["52.5"], ["13.4"])


@pytest.mark.parametrize("blank", ["\u00a0", "\u200b", "\ufeff"])
def test_a_table_of_places_has_no_blanks_around_keys_and_names(blank: str) -> None:
    row = f"{blank}8503{blank},{blank}Stop,{blank}Ulm{blank},{blank}9.9,48.4"
    table = f"key{blank},name,city,lon,lat\n{row}\n8504,Inn,Ulm,10,48.4\n"
    places = Places.from_geojson(read_gazetteer(table))
    assert (places.keys, places.names) == (("8503", "8504"), ("Stop", "Inn"))
    assert places.units == (("Ulm",), ("Ulm",))
    with pytest.raises(ValueError, match="orphan"):
        Places.from_geojson(read_gazetteer(f"{table}8505,Pub,{blank},9.9,48.4\n"))
