"""Folders counted by Spark, from the declaration to a map.

A real cluster is started by `tests/services/test_spark_cluster.py`. Here, this process does with
each file what executors would do, and adds up the results as Spark would.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dpgeo.core.errors import InvalidInput
from dpgeo.datasets.erasure import person_erase
from dpgeo.datasets.locations import locations
from dpgeo.datasets.registration import source_register
from dpgeo.engine.duckdb_view import Answer
from dpgeo.engine.spark import Cluster
from dpgeo.engine.spark_tasks import Question, SparkError
from dpgeo.jobs.models import JobState
from tests.lake import count_by_tasks
from tests.makers import make_release
from tests.web import test_sources as sources
from tests.web.test_sources import EXACT

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_storages")]


@pytest.fixture
def lake(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that is registered as if Spark were installed; Spark is not started."""
    path = tmp_path / "lake"
    path.mkdir()
    settings.DPGEO_SOURCES = [f"office/lake=spark:{path}"]
    monkeypatch.setattr("dpgeo.engine.spark.problem_with_spark", lambda: "")
    return path


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> list[Question]:
    """Let this process do the work of executors; return the questions that it answers."""
    asked: list[Question] = []

    def count(cluster: Cluster, question: Question) -> Iterator[Answer]:
        asked.append(question)
        # No hash that was made with a secret key is sent: erased persons need a session of Spark.
        assert not any(file.erased for file in cluster.files)
        return count_by_tasks(cluster._task(question))

    monkeypatch.setattr(Cluster, "count", count)
    return asked


def test_a_folder_is_counted_from_its_declaration_to_a_map(
    lake: Path, counting: list[Question]
) -> None:
    sources.write(lake / "a.parquet", range(30))
    sources.write(lake / "day=2/b.parquet", range(20, 50))
    dataset = sources.declared()
    sources.registered(dataset)
    assert sources.exactly(dataset, bound=2) == 60
    assert sources.exactly(dataset, counting="people") == 50
    assert len(counting) == 2


def test_a_file_that_changed_is_named_and_nothing_is_drawn(
    lake: Path, counting: list[Question]
) -> None:
    sources.write(lake / "a.parquet", range(30))
    sources.write(lake / "b.parquet", range(20, 50))
    dataset = sources.declared()
    sources.registered(dataset)
    sources.write(lake / "b.parquet", range(10))
    release = make_release(dataset, **EXACT)
    assert release.job.state == JobState.FAILED
    assert "'b.parquet'" in str(release.job.failure)
    assert not release.job.drawing
    (lake / "b.parquet").unlink()
    release = make_release(dataset, **EXACT)
    assert "'b.parquet'" in str(release.job.failure)
    assert not release.job.drawing


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("disk", "disk space"),
        ("session", "its address"),
        ("executors", "no worker"),
        ("MemoryError", "(MemoryError)"),
    ],
)
def test_a_cluster_that_cannot_count_ends_a_map_before_noise(
    lake: Path, monkeypatch: pytest.MonkeyPatch, kind: str, words: str
) -> None:
    def count(*_: object) -> Iterator[Answer]:
        raise SparkError(kind)
        yield

    monkeypatch.setattr(Cluster, "count", count)
    sources.write(lake / "a.parquet", range(30))
    dataset = sources.declared()
    sources.registered(dataset)
    release = make_release(dataset, **EXACT)
    assert release.job.state == JobState.FAILED
    assert words in str(release.job.failure)
    assert not release.job.drawing


def test_hashes_of_erased_persons_reach_the_cluster_object_alone(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    erased: list[frozenset[bytes]] = []

    def count(cluster: Cluster, question: Question) -> Iterator[Answer]:
        erased.extend(file.erased for file in cluster.files)
        return count_by_tasks(cluster._task(question))

    monkeypatch.setattr(Cluster, "count", count)
    sources.write(lake / "a.parquet", range(30))
    dataset = sources.declared()
    sources.registered(dataset)
    person_erase(dataset=dataset, person="p25", by=None)
    sources.exactly(dataset)
    (suppression,) = dataset.suppressions.all()
    assert erased == [frozenset({bytes(suppression.person)})]


def test_a_folder_is_refused_where_spark_is_missing(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DPGEO_SOURCES = [f"office/lake=spark:{tmp_path}"]
    sources.write(tmp_path / "a.parquet", range(3))
    dataset = sources.declared()
    known = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "pyspark" else known(name)
    )
    with pytest.raises(InvalidInput, match=r"dpgeo\[spark\] has to be installed"):
        source_register(dataset=dataset, location="lake", folder="", by=None)


@pytest.mark.parametrize("master", ["yarn", "local[2]:x", "local", "spark://cluster", "spark://:1"])
def test_other_masters_are_refused(lake: Path, settings: Any, master: str) -> None:
    settings.DPGEO_SPARK_MASTER = master
    with pytest.raises(ValueError, match="DPGEO_SPARK_MASTER must be local"):
        locations()[0].files("")


@pytest.mark.parametrize(
    "master", ["local[2]", "spark://one.example:7077,two:7077", "k8s://https://10.0.0.1:6443"]
)
def test_clusters_are_supported(lake: Path, settings: Any, master: str) -> None:
    settings.DPGEO_SPARK_MASTER = master
    sources.write(lake / "a.parquet", range(3))
    assert [file.path for file in locations()[0].files("")] == ["a.parquet"]


def test_spark_reads_buckets_and_absolute_paths(settings: Any) -> None:
    settings.DPGEO_SOURCES = ["office/lake=spark:s3://bucket/trips"]
    assert locations()[0].is_remote
    settings.DPGEO_SOURCES = ["office/lake=spark:trips"]
    with pytest.raises(ValueError, match="DPGEO_SOURCES"):
        locations()


@pytest.mark.skipif(not importlib.util.find_spec("moto"), reason="moto: make .venv/done/full")
def test_objects_are_fetched_unless_they_changed(
    lake: Path, counting: list[Question], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import boto3
    from moto import mock_aws

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "nothing")
    settings.DPGEO_S3_REGION = "us-east-1"
    settings.DPGEO_SOURCES = ["office/lake=spark:s3://bucket/trips"]
    dataset = sources.declared()
    with mock_aws():
        client = boto3.client("s3", region_name="us-east-1")
        client.create_bucket(Bucket="bucket")
        for name, people in (("day=1/a", range(30)), ("day=2/a", range(10))):
            content = sources.write(lake / "a.parquet", people).read_bytes()
            client.put_object(Bucket="bucket", Key=f"trips/{name}.parquet", Body=content)
        sources.registered(dataset)
        assert sources.exactly(dataset, bound=2) == 40
        assert len(counting) == 1
        other = sources.write(lake / "a.parquet", range(4)).read_bytes()
        client.put_object(Bucket="bucket", Key="trips/day=2/a.parquet", Body=other)
        release = make_release(dataset, **EXACT)
        assert "'day=2/a.parquet'" in str(release.job.failure)
        assert not release.job.drawing
