"""The operator's settings for tiles from another server: valid and invalid values."""

from __future__ import annotations

import pytest

from dpgeo.core.errors import InvalidInput
from dpgeo.ground.outside import read_outside

URL = "https://tiles.example.org:8443/shortbread/{z}/{x}/{y}.mvt?key=1"
CREDIT = "© OpenStreetMap contributors"


def test_an_address_names_one_origin() -> None:
    ground = read_outside(URL, f" {CREDIT} ", "2-15")
    assert ground is not None
    assert (ground.tiles, ground.attribution, ground.zooms) == (URL, CREDIT, (2, 15))
    assert ground.origin == "https://tiles.example.org:8443"
    assert ground.host == "tiles.example.org:8443"
    here = read_outside("http://127.0.0.1:9000/{z}/{x}/{y}", CREDIT, "0-14")
    assert here is not None
    assert here.origin == "http://127.0.0.1:9000"


@pytest.mark.parametrize(
    ("url", "credit", "zooms", "field", "words"),
    [
        ("http://tiles.example.org/{z}/{x}/{y}", CREDIT, "0-14", "URL", "begin with https"),
        ("ftp://tiles.example.org/{z}/{x}/{y}", CREDIT, "0-14", "URL", "begin with https"),
        ("https://tiles.example.org/{z}/{x}", CREDIT, "0-14", "URL", "{y}"),
        ("https://tiles.example.org/{z}/{z}/{x}/{y}", CREDIT, "0-14", "URL", "{z}"),
        ("https://*/{z}/{x}/{y}", CREDIT, "0-14", "URL", "an address like"),
        ("https://*.example.org/{z}/{x}/{y}", CREDIT, "0-14", "URL", "an address like"),
        ("https://me:word@example.org/{z}/{x}/{y}", CREDIT, "0-14", "URL", "an address like"),
        ("https://example.org; script-src *//{z}/{x}/{y}", CREDIT, "0-14", "URL", "address"),
        ("https://example.org:x/{z}/{x}/{y}", CREDIT, "0-14", "URL", "Is not an address"),
        ("/tiles/{z}/{x}/{y}", CREDIT, "0-14", "URL", "an address like"),
        (URL, "  ", "0-14", "ATTRIBUTION", "Is missing"),
        (URL, "a\nb", "0-14", "ATTRIBUTION", "one line"),
        (URL, CREDIT, "14-2", "ZOOMS", "two zooms"),
        (URL, CREDIT, "0-99", "ZOOMS", "two zooms"),
        (URL, CREDIT, "all", "ZOOMS", "two zooms"),
    ],
)
def test_nonsense_is_refused_at_its_setting(
    url: str, credit: str, zooms: str, field: str, words: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_outside(url, credit, zooms)
    assert refused.value.field == f"DPGEO_GROUND_{field}"
    assert words in str(refused.value)
