"""The Python client and the notebook against a real server and worker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dpgeo_client import ApiError, Catalogue, jobs, upload

from tests.services.installation import ROOT, Installation
from tests.services.sites import site_of
from tests.web.desk import invented_rows

pytestmark = [pytest.mark.services, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, Any]]]:
    """Run a server with a worker; yield its address, and what `posting.prepare_program` returned.

    That is a key in headers, and the body of a release request.
    """
    installation = Installation(tmp_path_factory.mktemp("client"))
    prepared = installation.ask("prepare_program")
    installation.close()
    with installation.worker(), site_of(installation) as port:
        yield f"http://127.0.0.1:{port}", prepared


def test_a_program_requests_a_map_that_anybody_can_read(
    served: tuple[str, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, prepared = served
    monkeypatch.setattr(jobs, "POLL_SECONDS", 0.1)
    key = prepared["headers"]["Authorization"].removeprefix("Bearer ")
    with Catalogue(server, key=key) as ours:
        body = prepared["body"]
        quote = ours.quote(
            body["dataset"], **{k: v for k, v in body.items() if k not in {"dataset", "title"}}
        )
        assert quote["epsilon"] == body["epsilon"]
        made = [
            ours.request_release(**body, publish_when_done=True, name="one", progress=False)
            for _ in range(2)
        ]
        assert made[0].id == made[1].id
        with pytest.raises(ApiError) as refused:
            ours.request_release(**{**body, "epsilon": "9"}, progress=False)
        assert refused.value.status == 409
    with Catalogue(server) as anybody:
        (first,) = anybody.releases(bbox=(9, 49, 11, 51), kind="heatmap")
        assert first.id == made[0].id
        assert list(anybody.releases(bbox=(0, 0, 1, 1))) == []
        assert anybody.release(first.id).facts == first.facts
        cells = first.to_geopandas()
        assert {"estimate", "margin", "threshold", "geometry"} <= set(cells.columns)
        whole = first.query(tuple(cells.total_bounds))
        assert whole["estimate"] == cells["estimate"].sum()
        region = cells.geometry.iloc[0].buffer(-1e-6)
        one = first.query(region)
        assert None not in (one["low"], one["estimate"], one["high"])
        assert one["low"] <= one["estimate"] <= one["high"]  # type: ignore[operator]
        parts = first.query_regions(cells.iloc[:3])
        assert [each["estimate"] for each in parts] == pytest.approx(
            cells["estimate"].iloc[:3].tolist()
        )
        assert first.statement()["title"] == first.title
        assert first.download(str(tmp_path / "new" / "folder"), "GeoPackage").stat().st_size > 0
        with pytest.raises(LookupError, match="there are"):
            first.file("Shapefile")
        with pytest.raises(ApiError, match="bbox"):
            list(anybody.releases(bbox=(9, 51, 11, 49)))
        with pytest.raises(ApiError) as unknown:
            anybody.request_release(**body, progress=False)
        assert unknown.value.status == 401


def test_a_program_uploads_a_file_in_one_call(
    served: tuple[str, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, prepared = served
    monkeypatch.setattr(jobs, "POLL_SECONDS", 0.1)
    monkeypatch.setattr(upload, "PIECE_BYTES", 500)
    key = prepared["headers"]["Authorization"].removeprefix("Bearer ")
    (tmp_path / "later.csv").write_text(invented_rows())
    with Catalogue(server, key=key) as ours:
        slug = prepared["body"]["dataset"]
        guess = ours.upload(slug, tmp_path / "later.csv", progress=False).preview()["suggested"]
        columns = {**guess, "person": "device", "time": "seen"}
        assert ours.upload(slug, tmp_path / "later.csv", columns, progress=False).facts["usable"]
        with pytest.raises(ApiError) as unknown:
            ours.upload("nowhere", tmp_path / "later.csv", columns, progress=False)
        assert unknown.value.status == 404


def test_the_notebook_runs_unchanged(served: tuple[str, dict[str, Any]]) -> None:
    document = json.loads((ROOT / "docs" / "notebook.ipynb").read_text())
    cells = ["".join(cell["source"]) for cell in document["cells"] if cell["cell_type"] == "code"]
    assert cells[0].startswith("SERVER = ")
    names: dict[str, Any] = {"SERVER": served[0]}
    for cell in cells[1:]:
        exec(compile(cell, "notebook", "exec"), names)  # noqa: S102 - it is ours
    assert names["answer"]["margin"] > 0
    assert len(names["loud"]) <= len(names["cells"])
