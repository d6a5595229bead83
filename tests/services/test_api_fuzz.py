"""Fuzzing of the API: every response conforms to the schema, and none is a server error."""

from __future__ import annotations

import collections
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.requirements import need
from tests.servers import free_port
from tests.services import fuzzed
from tests.services.installation import Installation
from tests.services.sites import web_words

pytestmark = [
    pytest.mark.services,
    pytest.mark.timeout(7200 if os.environ.get("DPGEO_AUDIT") else 1200),
]

FUZZER = Path(sys.executable).parent / "schemathesis"

ROOT = Path(__file__).parents[2]

HOOKS = "tests.services.fuzz_hooks"


@dataclass(frozen=True, slots=True)
class Extent:
    """How many requests the fuzzers make.

    `examples` is the number of random requests for each operation, and of sequences of requests
    that follow the schema's links; requests at the limits of the schema are made as well. Only the
    first operation and every `one_in`-th further one are tried. `fuzzers` is the number of
    processes that share the work, because generating a request takes longer than answering it.
    """

    examples: int
    one_in: int
    fuzzers: int


WHOLE = Extent(examples=500 if os.environ.get("DPGEO_AUDIT") else 50, one_in=1, fuzzers=2)

SAMPLE = Extent(examples=4, one_in=3, fuzzers=1)
"""How many requests the fuzzer makes in runs that make only a sample of the tests."""

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)

ONLY = "--include-operation-id"

METHODS = ("delete", "get", "patch", "post", "put")

Operations = Mapping[str, str]
"""Ids of operations, by method and path."""

Statuses = Mapping[str, collections.Counter[int]]

Words = Mapping[str, Sequence[Any]]

Fixture = tuple[Path, dict[str, Any]]
"""The folder of an installation, and the headers and names of the objects in it."""


def wait_until_served(address: str) -> None:
    deadline = time.monotonic() + 300
    while True:
        try:
            with urllib.request.urlopen(f"{address}/healthz", timeout=5):  # noqa: S310
                return
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.2)


def read(address: str) -> Any:
    with urllib.request.urlopen(address, timeout=60) as answer:  # noqa: S310
        return json.load(answer)


def operations(description: Any, one_in: int) -> Operations:
    """Return the first and every `one_in`-th further operation of a schema."""
    everything = {
        f"{method.upper()} {path}": methods[method]["operationId"]
        for path, methods in description["paths"].items()
        for method in METHODS
        if method in methods
    }
    return dict(list(everything.items())[::one_in])


def tile_of(server: str, release: str, layer: str) -> tuple[int, int, int]:
    """Return the zoom, column and row of the tile that contains the middle of a layer."""
    described = read(f"{server}/api/v1/releases/{release}/tiles/{layer}.json")
    west, south, east, north = described["bounds"]
    return fuzzed.tile_at((west + east) / 2, (south + north) / 2, described["maxzoom"])


@pytest.fixture(scope="module")
def extent(pytestconfig: pytest.Config) -> Extent:
    """Return how many requests the fuzzers make in this run of the tests."""
    return SAMPLE if pytestconfig.getoption("--share") > 1 else WHOLE


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Fixture:
    """Return the folder of an installation with objects of each kind, and the objects' names.

    The second result also has headers that contain an API key.
    """
    need(FUZZER.exists(), "schemathesis: make test-all installs it")
    with closing(Installation(tmp_path_factory.mktemp("held"))) as installation:
        return installation.folder, installation.ask("fuzzed")


@contextmanager
def served(folder: Path, held: Fixture) -> Iterator[tuple[str, dict[str, str], Words]]:
    """Run a server on a copy of the installation in `held`.

    Yields the server's address, headers with a key, and the fuzzer's dictionaries. At the end,
    fails if the server has logged that an API request failed.
    """
    folder_of, made = held
    shutil.copytree(folder_of / "var", folder / "var")
    unlimited = {"DPGEO_REQUESTS_A_MINUTE": "0", "DPGEO_KEY_REQUESTS_A_MINUTE": "0"}
    installation = Installation(folder, unlimited, migrated=False)
    port = free_port()
    server = f"http://127.0.0.1:{port}"
    with installation.running(*web_words(port)):
        wait_until_served(server)
        tile = tile_of(server, made["names"]["published"][0], "cells")
        yield server, made["headers"], fuzzed.dictionaries(made["names"], tile)
        log = (folder / "log").read_text()
        assert "An API request failed" not in log, log[-4000:]


def begin(folder: Path, settings: str, examples: int, *words: str) -> subprocess.Popen[bytes]:
    """Start a fuzzer process that looks for responses which contradict the schema."""
    folder.mkdir()
    (folder / "schemathesis.toml").write_text(settings)
    with (folder / "said").open("wb") as output:
        return subprocess.Popen(
            [
                *(str(FUZZER), "run", *words, "--continue-on-failure", "--no-color"),
                *("--max-examples", str(examples), "--seed", "1", "-c", ",".join(CHECKS)),
                *("--generation-database", "none", "--report", "ndjson"),
                *("--report-ndjson-path", "events", "--request-timeout", "60"),
            ],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "SCHEMATHESIS_HOOKS": HOOKS},
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def statuses(folder: Path) -> dict[str, collections.Counter[int]]:
    """Return, for each operation, how often each status occurred."""
    counts: dict[str, collections.Counter[int]] = collections.defaultdict(collections.Counter)
    with (folder / "events").open() as events:
        for line in events:
            ended = json.loads(line).get("ScenarioFinished")
            if ended is None:
                continue
            recorder = ended["recorder"]
            for name, sent in recorder.get("interactions", {}).items():
                if sent.get("response"):
                    case = recorder["cases"][name]["value"]
                    label = f"{case['method']} {case['path']}"
                    counts[label][sent["response"]["status_code"]] += 1
    return counts


def fuzz(
    folder: Path,
    schema: str,
    asked: Operations,
    words: Words,
    headers: Mapping[str, str],
    extent: Extent,
) -> Statuses:
    """Divide operations of a schema among fuzzers; return how often each status occurred.

    The counts are by operation.
    """
    ids = list(asked.values())
    key = [word for name, value in headers.items() for word in ("-H", f"{name}: {value}")]
    counts: dict[str, collections.Counter[int]] = collections.defaultdict(collections.Counter)
    for phases, mixed in (("examples,coverage", False), ("fuzzing", True)):
        settings = fuzzed.settings(words, mixed=mixed)
        with ExitStack() as stack:
            begun = {}
            for first in range(extent.fuzzers):
                chosen = [word for each in ids[first :: extent.fuzzers] for word in (ONLY, each)]
                own = folder / f"{phases}-{first}"
                words_of_run = (schema, *chosen, *key, "--phases", phases)
                started = begin(own, settings, extent.examples, *words_of_run)
                begun[own] = stack.enter_context(started)
            for own, process in begun.items():
                ended(own, process)
                for label, counted in statuses(own).items():
                    counts[label] += counted
    return counts


def ended(folder: Path, process: subprocess.Popen[bytes]) -> None:
    """Wait until a fuzzer ends; fail if it has found a problem."""
    process.wait()
    output = (folder / "said").read_text()
    assert process.returncode == 0, output[-8000:]


def never_well(found: Statuses, asked: Operations) -> set[str]:
    """Return the operations that succeeded in none of the fuzzer's requests."""
    well = {label for label, counted in found.items() if any(200 <= each < 300 for each in counted)}
    return {*asked} - well


NEEDS_A_FAILURE = {"POST /api/v1/series/{series_id}/resume"}
"""Operations that succeed only once a worker has failed. The fuzzer need not make them succeed,
because `tests/web/test_series_pages.py` tests them.
"""


def test_no_input_makes_the_api_contradict_its_schema(
    tmp_path: Path, held: Fixture, extent: Extent
) -> None:
    with served(tmp_path, held) as (server, headers, words):
        schema = f"{server}/api/schema"
        asked = operations(read(schema), extent.one_in)
        counts = fuzz(tmp_path, schema, asked, words, headers, extent)
        assert never_well(counts, asked) == NEEDS_A_FAILURE & asked.keys()


def test_no_walk_along_links_makes_the_api_contradict_its_schema(
    tmp_path: Path, held: Fixture, extent: Extent
) -> None:
    with served(tmp_path, held) as (server, headers, _):
        settings = fuzzed.settings({"offset": ["0"]})
        key = ("-H", f"Authorization: {headers['Authorization']}")
        words_of_run = (f"{server}/api/schema", *key, "--phases", "stateful")
        walks = tmp_path / "walks"
        ended(walks, begin(walks, settings, extent.examples, *words_of_run))


def test_no_input_makes_the_features_contradict_their_schema(
    tmp_path: Path, held: Fixture, extent: Extent
) -> None:
    with served(tmp_path, held) as (server, _, words):
        schema = f"{server}/ogc/api"
        asked = operations(read(schema), extent.one_in)
        counts = fuzz(tmp_path, schema, asked, words, {}, extent)
        assert never_well(counts, asked) == set()
