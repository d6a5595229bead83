"""Requirements for every mechanism that supports zero-concentrated differential privacy (zCDP).

Each mechanism draws one release for people and one for visits with its default parameters.
"""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from dpgeo.artefacts.codec import decode, encode
from dpgeo.artefacts.files import build_files
from dpgeo.artefacts.statement_schema import statement_schema
from dpgeo.core.errors import PrivacyError
from dpgeo.core.guarantees import Bounding, Counting, Notion, Unit, guarantee
from dpgeo.core.noise import DiscreteGaussian
from dpgeo.core.released import Released
from dpgeo.mechanisms import dpcube, flows
from dpgeo.mechanisms.averages import LABEL as SHARES
from dpgeo.mechanisms.private_clusters import COUNTS as CLUSTER_COUNTS
from dpgeo.mechanisms.registry import MECHANISMS
from dpgeo.postprocess.layers import layers
from dpgeo.privacy.bounding import PILOT, PILOT_SHARE
from dpgeo.privacy.mechanism import Mechanism, checked_plan, forecast, run
from tests.conformance.cases import BOUND, DOMAIN, RUNS, city, nobody
from tests.conformance.test_mechanisms import can_be_counted, measured_layers, true_counts
from tests.noise import gaussian
from tests.randomness import SeededEntropy

RHO, DELTA = Fraction(3, 200), Fraction(1, 10**9)
ABOUT = {"title": "A made-up city", "publisher": "Nobody", "licence": "CC0-1.0"}

GAUSSIAN = [mechanism for mechanism in MECHANISMS.values() if mechanism.gaussian]

SUMS = {flows.LEAVING, flows.ARRIVING, dpcube.PARTITIONS}
"""Labels of measurements whose values are sums over several pairs or cells.

One person can therefore add up to BOUND to a single value.
"""

DRAWS = 12

every_mechanism = pytest.mark.parametrize("mechanism", GAUSSIAN, ids=lambda each: each.key)
every_counting = pytest.mark.parametrize("counting", Counting)


def defaults(mechanism: Mechanism) -> Any:
    return next(case.values[1] for case in RUNS if case.values[0] is mechanism)


@cache
def release(key: str, counting: Counting, seed: int = 1, *, empty: bool = False) -> Released:
    mechanism, view = MECHANISMS[key], nobody() if empty else city(counting=counting)
    entropy = SeededEntropy(seed)
    return run(mechanism, view, defaults(mechanism), RHO, entropy, ABOUT, delta=DELTA)


def squared(label: str, counting: Counting, released: Released) -> int:
    """Return the squared L2 sensitivity that a measurement must have.

    The rules are those of docs/rho.md.
    """
    steps = released.content.measure.steps if label == SHARES else 1  # type: ignore[attr-defined]
    # With a contribution bound as low as BOUND, the mechanism "auto" counts squares of several
    # cells, and all contributions of one person may be in the same square.
    clusters = released.mechanism == "private-clusters"
    sums = label in SUMS or clusters or released.mechanism.startswith("auto")
    once = counting is Counting.PEOPLE and not sums
    columns = 3 if clusters and label != CLUSTER_COUNTS else 1
    return columns * (BOUND if once else BOUND**2) * steps**2


@every_mechanism
@every_counting
def test_its_trace_adds_up_to_rho_with_the_noise_of_each_line(
    mechanism: Mechanism, counting: Counting
) -> None:
    released = release(mechanism.key, counting)
    assert sum(line.amount for line in released.trace) == RHO
    for line in released.trace:
        assert line.epsilon is None
        assert line.noise == DiscreteGaussian(line.amount, squared(line.label, counting, released))
    assert released.guarantee == guarantee(Notion.ZCDP, RHO, Unit.PERSON, DELTA)


@every_mechanism
@every_counting
def test_its_forecast_announces_the_noise_that_is_drawn(
    mechanism: Mechanism, counting: Counting
) -> None:
    params = defaults(mechanism)
    expected = forecast(mechanism, params, RHO, BOUND, DOMAIN, counting, Notion.ZCDP)
    released = release(mechanism.key, counting)
    assert expected.noise in [line.noise for line in released.trace]
    for layer in measured_layers(released):
        if layer.least_listed is None and layer.features.look not in {"departures", "arrivals"}:
            assert float(expected.margin or 0) in layer.margin


@every_mechanism
def test_its_release_survives_its_file(mechanism: Mechanism) -> None:
    released = release(mechanism.key, Counting.PEOPLE)
    read = decode(encode(released))
    assert read.trace == released.trace
    assert encode(read) == encode(released)
    assert [layer.name for layer in layers(read)] == [layer.name for layer in layers(released)]


@every_mechanism
def test_its_statement_tells_the_noise_of_every_measurement(
    mechanism: Mechanism, tmp_path: Path
) -> None:
    released = release(mechanism.key, Counting.PEOPLE)
    build_files(released, tmp_path)
    stated = json.loads((tmp_path / "statement.json").read_text(encoding="utf-8"))
    Draft202012Validator(statement_schema()).validate(stated)
    noises = [line.noise for line in released.trace]
    shown = [spend["noise"] for spend in stated["spends"]]
    assert [each["margin_95"] for each in shown] == [gaussian(each).margin() for each in noises]
    assert {each["distribution"] for each in shown} == {"discrete Gaussian"}


@pytest.mark.statistical
@every_mechanism
def test_its_margins_cover_as_often_as_they_say(mechanism: Mechanism) -> None:
    view = city(counting=Counting.PEOPLE)
    if not can_be_counted(release(mechanism.key, Counting.PEOPLE)):
        pytest.skip("Its own tests look at margins of what is no box.")
    covered: dict[str, list[bool]] = {}
    exceeded: dict[str, list[bool]] = {}
    chosen: set[str] = set()
    for seed in range(DRAWS):
        for layer in measured_layers(release(mechanism.key, Counting.PEOPLE, seed)):
            error = np.abs(layer.value - true_counts(layer, view))
            covered.setdefault(layer.name, []).extend((error <= layer.margin).tolist())
            chosen |= {layer.name} if layer.least_listed else set()
        for layer in measured_layers(release(mechanism.key, Counting.PEOPLE, seed, empty=True)):
            reached = (layer.value >= layer.threshold).tolist()
            exceeded.setdefault(layer.name, []).extend(reached)
    for name, hits in covered.items():
        slack = 7 * (0.05 * 0.95 / max(len(hits), 1)) ** 0.5
        assert not hits or np.mean(hits) > 0.95 - slack, name
        assert name in chosen or np.mean(hits) < 0.985 + slack, name
    for name, hits in exceeded.items():
        if name not in chosen:
            assert np.mean(hits) <= 1e-3 + 7 * (1e-3 / len(hits)) ** 0.5, name


@every_mechanism
def test_popular_places_cost_a_share_of_rho(mechanism: Mechanism) -> None:
    if mechanism.regions is None:
        pytest.skip("It chooses places at random alone.")
    view = city(counting=Counting.PEOPLE)
    released = run(
        mechanism,
        view,
        defaults(mechanism),
        RHO,
        SeededEntropy(1),
        ABOUT,
        Bounding.POPULAR,
        delta=DELTA,
    )
    pilot = next(line for line in released.trace if line.label == PILOT)
    assert pilot.noise == DiscreteGaussian(RHO * PILOT_SHARE, 1)
    assert sum(line.amount for line in released.trace) == RHO


def test_a_mechanism_that_does_not_serve_zcdp_is_refused() -> None:
    for mechanism in MECHANISMS.values():
        params = next(case.values[1] for case in RUNS if case.values[0] is mechanism)
        if mechanism.gaussian:
            assert mechanism.notions == (Notion.PURE_DP, Notion.ZCDP)
            plan = checked_plan(mechanism, params, RHO, delta=DELTA)
            assert sum(spend.amount for spend in plan) == RHO
            continue
        assert Notion.ZCDP not in mechanism.notions
        for refused in (
            lambda one=mechanism, own=params: checked_plan(one, own, RHO, delta=DELTA),
            lambda one=mechanism, own=params: forecast(
                one, own, RHO, BOUND, DOMAIN, Counting.PEOPLE, Notion.ZCDP
            ),
        ):
            with pytest.raises(PrivacyError, match="not offered under zCDP"):
                refused()
