"""Release files over HTTP: their exact bytes, and who may fetch them."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import storages
from django.test import Client
from django.utils.crypto import get_random_string

from dpgeo.accounts.models import Role, User
from dpgeo.artefacts.files import FORMATS, MADE_UP_POINTS, WHOLE_RELEASE, build_files
from dpgeo.artefacts.formats import LayerFormat, StyleFormat
from dpgeo.artefacts.view import views
from dpgeo.postprocess.layers import Layer, layers
from dpgeo.releases.models import Release, ReleaseFile
from tests.makers import ask_for
from tests.unit.artefacts.releases import partition_release
from tests.web.published import install, make_dataset, make_member, make_organisation

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

PUBLIC = "public, max-age=60, s-maxage=60, must-revalidate"


def holds(each: LayerFormat | StyleFormat, layer: Layer) -> bool:
    """Return whether a layer is offered as a file in a format."""
    if isinstance(each, LayerFormat):
        return each.holds(layer)
    (view,) = (view for view in views([*LAYERS.values()]) if view.layer is layer)
    return each.holds(view)


LAYERS = {layer.name: layer for layer in layers(partition_release())}

NAMES = sorted(
    {
        f"{name}{each.suffix}"
        for name, layer in LAYERS.items()
        for each in FORMATS
        if holds(each, layer)
    }
    | MADE_UP_POINTS.keys()
    | WHOLE_RELEASE.keys()
)
"""Names of the files of a release, with its layers in every format that can hold them."""

RANGE_NAME = "estimate.csv"


def visitor(who: str) -> Client:
    """Return a browser, signed in as `who` says: nobody, a member or another publisher's
    administrator.
    """
    client = Client()
    if who == "superuser":
        client.force_login(User.objects.create_superuser(get_random_string(8)))
    elif who != "anonymous":
        slug = "other-town" if who == "other" else "example-city"
        role = Role.ADMINISTRATOR if who == "other" else Role(who)
        client.force_login(make_member(make_organisation(slug), get_random_string(8), role))
    return client


INSIDERS = {"steward", "approver", "administrator", "superuser"}
VISITORS = ["anonymous", "other", *sorted(INSIDERS)]
STATES = ["draft", "published", "withdrawn", "rejected"]


@pytest.fixture
def release() -> Release:
    return ask_for(install(make_dataset(), partition_release()), RANGE_NAME)


def address(release: Release, name: str = RANGE_NAME) -> str:
    return f"/api/v1/releases/{release.pk}/files/{name}"


def expected_status(state: str, who: str) -> int:
    if state in {"withdrawn", "rejected"}:
        return 410
    return 200 if state == "published" or who in INSIDERS else 404


@pytest.mark.parametrize("who", VISITORS)
@pytest.mark.parametrize("state", STATES)
def test_files_are_sent_only_to_those_who_may_see_the_release(state: str, who: str) -> None:
    release = install(
        make_dataset(),
        partition_release(),
        published=state == "published",
        withdrawn=state == "withdrawn",
        rejected=state == "rejected",
    )
    client = visitor(who)
    made = set(release.files.exclude(stored_name="").values_list("name", flat=True))
    for name in NAMES:
        expected = expected_status(state, who)
        if expected == 200 and name not in made:
            expected = 202
        for method in (client.get, client.head):
            answer = method(address(release, name))
            assert answer.status_code == expected, (name, method)
            if answer.status_code == 200:
                assert answer["Cache-Control"] == (
                    PUBLIC if state == "published" else "private, no-store"
                )
            else:
                assert answer["Content-Type"] == "application/problem+json"
                assert answer["Cache-Control"] == "no-store"


@pytest.mark.parametrize("name", NAMES)
def test_the_bytes_are_the_ones_that_were_built(
    client: Client, release: Release, name: str, tmp_path: Path
) -> None:
    built = {each.name: each for each in build_files(partition_release(), tmp_path)}
    assert sorted(built) == NAMES
    ask_for(release, name)
    answer = client.get(address(release, name))
    content = answer.getvalue()
    assert content == built[name].path.read_bytes()
    assert answer["ETag"] == f'"{hashlib.sha256(content).hexdigest()}"'
    assert answer["Content-Length"] == str(len(content))
    assert answer["Content-Type"] == built[name].media_type
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert "Cookie" not in answer["Vary"]
    listed = json.loads(client.get(f"/api/v1/releases/{release.pk}").content)["files"]
    entry = next(each for each in listed if each["name"] == name)
    assert entry["size"] == len(content)
    assert f'"{entry["sha256"]}"' == answer["ETag"]


@pytest.mark.parametrize(
    ("name", "disposition"),
    [
        ("estimate.csv", 'attachment; filename="evening-walks-estimate.csv"'),
        ("map.bin", 'inline; filename="evening-walks-map.bin"'),
        ("statement.json", 'inline; filename="evening-walks-statement.json"'),
    ],
)
def test_files_are_saved_under_a_descriptive_name(
    client: Client, release: Release, name: str, disposition: str
) -> None:
    assert client.get(address(release, name))["Content-Disposition"] == disposition


def test_a_hostile_title_cannot_forge_a_header(client: Client, release: Release) -> None:
    Release.objects.filter(pk=release.pk).update(title='x"\r\nSet-Cookie: a=b; ☃' * 9)
    disposition = client.get(address(release))["Content-Disposition"]
    assert disposition.startswith('attachment; filename="x-set-cookie-ab-')
    assert disposition.count('"') == 2


def test_a_withdrawn_file_answers_gone_with_a_link_to_the_tombstone(client: Client) -> None:
    release = install(make_dataset(), withdrawn=True)
    answer = client.get(address(release, "cells.csv"))
    assert answer.status_code == 410
    document = json.loads(answer.content)
    assert "withdrawn" in document["detail"]
    assert client.get(f"/api/v1/releases/{release.pk}").status_code == 200
    assert f"/api/v1/releases/{release.pk}" in document["detail"]


@pytest.mark.parametrize(
    "name", ["none.csv", "ESTIMATE.CSV", "estimate.csv.gz", "%00", "..%2fblobs", "x" * 5000, "é"]
)
def test_there_are_no_other_files(client: Client, release: Release, name: str) -> None:
    answer = client.get(address(release, name))
    assert answer.status_code == 404
    assert answer["Content-Type"] == "application/problem+json"


def test_a_parameter_on_a_file_is_refused(client: Client, release: Release) -> None:
    assert client.get(f"{address(release)}?download=1").status_code == 400


# The next tests are about compressed copies of files.


@pytest.mark.parametrize(
    "accepts", ["gzip", "gzip, br", "GZIP;q=0.5", "*", "br;q=1, *;q=0.1", "deflate, gzip;q=1.0"]
)
def test_gzip_is_sent_where_it_is_accepted(client: Client, release: Release, accepts: str) -> None:
    plain = client.get(address(release))
    packed = client.get(address(release), headers={"accept-encoding": accepts})
    body = packed.getvalue()
    assert packed["Content-Encoding"] == "gzip"
    assert packed["Content-Length"] == str(len(body))
    assert gzip.decompress(body) == plain.getvalue()
    assert packed["ETag"] != plain["ETag"]
    assert packed["Content-Type"] == plain["Content-Type"]
    assert packed["Vary"] == plain["Vary"] == "Accept-Encoding"


@pytest.mark.parametrize("accepts", ["", "br", "gzip;q=0", "gzip;q=0.0, *", "identity", "*;q=0"])
def test_gzip_is_sent_only_where_it_is_accepted(
    client: Client, release: Release, accepts: str
) -> None:
    answer = client.get(address(release), headers={"accept-encoding": accepts})
    assert not answer.has_header("Content-Encoding")


# The next tests are about conditional requests.


@pytest.mark.parametrize("accepts", ["", "gzip"])
@pytest.mark.parametrize("form", ["{}", "W/{}", '"other", {}', "*"])
def test_an_unchanged_file_is_not_sent_again(
    client: Client, release: Release, form: str, accepts: str
) -> None:
    etag = client.get(address(release), headers={"accept-encoding": accepts})["ETag"]
    for method in (client.get, client.head):
        answer = method(
            address(release),
            headers={"if-none-match": form.format(etag), "accept-encoding": accepts},
        )
        assert (answer.status_code, answer.content) == (304, b"")
        assert answer["ETag"] == etag
        assert answer["Cache-Control"] == PUBLIC


def test_a_stranger_learns_no_etag_of_a_draft(client: Client) -> None:
    draft = install(make_dataset(), published=False)
    file = draft.files.get(name="cells.csv")
    for condition in ({"if-none-match": f'"{file.sha256}"'}, {"if-match": '"x"'}):
        answer = client.get(address(draft, "cells.csv"), headers=condition)
        assert answer.status_code == 404
        assert not answer.has_header("ETag")


# The next tests are about requests for parts of files (ranges of bytes).


@pytest.mark.parametrize(
    ("span", "part"),
    [
        ("bytes=0-0", slice(0, 1)),
        ("bytes=5-20", slice(5, 21)),
        ("bytes=100-", slice(100, None)),
        ("bytes=-7", slice(-7, None)),
        ("bytes=0-999999999", slice(0, None)),
        ("bytes=-999999999", slice(0, None)),
    ],
)
@pytest.mark.parametrize("accepts", ["", "gzip"])
def test_a_range_is_cut_from_the_plain_bytes(
    client: Client, release: Release, span: str, part: slice, accepts: str
) -> None:
    whole = client.get(address(release)).getvalue()
    answer = client.get(address(release), headers={"range": span, "accept-encoding": accepts})
    body = answer.getvalue()
    first = range(len(whole))[part][0]
    assert answer.status_code == 206
    assert body == whole[part]
    assert answer["Content-Length"] == str(len(body))
    assert answer["Content-Range"] == f"bytes {first}-{first + len(body) - 1}/{len(whole)}"
    assert not answer.has_header("Content-Encoding")
    assert answer["ETag"] == f'"{hashlib.sha256(whole).hexdigest()}"'


@pytest.mark.parametrize("span", ["bytes=999999999-", "bytes=999999999-9999999999", "bytes=-0"])
def test_a_range_beyond_the_end_is_refused_with_the_size(
    client: Client, release: Release, span: str
) -> None:
    size = ReleaseFile.objects.get(release=release, name=RANGE_NAME).size
    answer = client.get(address(release), headers={"range": span})
    assert answer.status_code == 416
    assert answer["Content-Range"] == f"bytes */{size}"
    assert answer["Content-Type"] == "application/problem+json"
    assert str(size) in json.loads(answer.content)["detail"]


def test_head_has_the_headers_of_get(client: Client, release: Release) -> None:
    for name in NAMES:
        for accepts in ("", "gzip"):
            headers = {"accept-encoding": accepts}
            got: Any = client.get(address(release, name), headers=headers)
            headed = client.head(address(release, name), headers=headers)
            # each response has its own request id, which is left out of the comparison
            own = {"X-Request-ID"}
            assert {*headed.headers} == {*got.headers} >= own
            assert all(headed[name] == got[name] for name in {*got.headers} - own)
            assert headed.content == b""


def test_a_file_that_is_being_moved_is_found(
    client: Client, release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file can be fetched even while it is being moved.

    Publishing moves files between the storages, and a request may come in between.
    """
    storage = storages["releases"]
    opened = []
    really_open = type(storage).open

    def open_later(self: Any, name: str, mode: str = "rb") -> Any:
        opened.append(name)
        if len(opened) == 1:
            raise FileNotFoundError(name)
        return really_open(self, name, mode)

    monkeypatch.setattr(type(storage), "open", open_later)
    assert client.get(address(release)).status_code == 200
    assert len(opened) == 2
