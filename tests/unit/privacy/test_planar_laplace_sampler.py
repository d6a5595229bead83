from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest

from dpgeo.core.errors import InvalidInput, PrivacyError
from dpgeo.core.levels import make_level
from dpgeo.core.noise import WGS84_STRETCH, PlanarLaplace
from dpgeo.core.spend import Spend
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.planar_laplace_sampler import draw_arcs, move, travel
from dpgeo.privacy.positions import PrivatePositions, Reports
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.ground_grid import GroundGrid, grid_step, input_step
from dpgeo.spatial.projection import EARTH_RADIUS_METRES
from dpgeo.spatial.truncation import Truncation
from tests.randomness import CraftedWords, SeededEntropy, SeededWords, ZeroNoise, ZeroWords

NOISE = PlanarLaplace(make_level("ln 4", 200).epsilon, 1, 2, 1000)
CITY = StudyArea.from_bounds(10.0, 50.0, 10.2, 50.1)


def metres(east: np.ndarray, north: np.ndarray, lon: float, lat: float) -> np.ndarray:
    """Return great-circle distances from a position, by the haversine formula."""
    a, b = np.radians(north), math.radians(lat)
    angle = np.radians(east - lon)
    half = np.sin((a - b) / 2) ** 2 + np.cos(a) * math.cos(b) * np.sin(angle / 2) ** 2
    return np.asarray(2 * EARTH_RADIUS_METRES * np.arcsin(np.sqrt(half)))


@pytest.mark.parametrize(
    ("lon", "lat"), [(10, 0), (-74, 40), (20, 60), (15, 78), (151, -33), (179.9999, 10), (0, 89.99)]
)
def test_noise_has_its_declared_distances_everywhere(lon: float, lat: float) -> None:
    size = 40_000
    moved = move(np.full(size, float(lon)), np.full(size, float(lat)), NOISE, SeededWords(1))
    far = metres(*moved, lon, lat)
    for share in (0.1, 0.5, 0.95, 0.999):
        # Five standard errors of the share of points within this radius, plus 0.003 because points
        # are snapped to a 2 m grid.
        error = 5 * math.sqrt(share * (1 - share) / size) + 0.003
        assert abs((far <= NOISE.radius(share)).mean() - share) < error, share
    if lat < 80:  # near the north pole every direction but north leads south
        mean = np.mean(moved[1] - lat) * 111_195
        assert abs(mean) < 5 * NOISE.axis_deviation / math.sqrt(size) + 0.5


def test_without_noise_a_report_is_only_snapped() -> None:
    lon, lat = np.array([10.1, -179.99999]), np.array([50.05, 12.0])
    east, north = move(lon, lat, NOISE, ZeroWords())
    assert (metres(east[:1], north[:1], 10.1, 50.05) <= 1.5).all()
    assert (metres(east[1:], north[1:], -179.99999, 12.0) <= 1.5).all()


def test_every_distance_can_be_drawn() -> None:
    # An arc is the sum of two exponential variables. A word of 64 ones makes the first the negative
    # logarithm of at most 2^-64, so it exceeds 64 ln 2.
    ones = (1 << 64) - 1
    arcs = draw_arcs(1e5, 1, CraftedWords([ones, 0, 0, 0, 0]))
    assert arcs[0] * 1e5 >= 64 * math.log(2)


def test_arcs_beyond_the_antipode_are_redrawn_for_the_law_on_the_sphere() -> None:
    arcs = draw_arcs(1.0, 200_000, SeededWords(3))
    assert arcs.max() <= math.pi
    # The density of an arc a is proportional to exp(-a) sin(a) on [0, pi]. Integration by parts
    # gives its mean.
    end = math.exp(-math.pi)
    mean = (1 + (math.pi + 1) * end) / (1 + end)
    assert abs(arcs.mean() - mean) < 5 * arcs.std() / math.sqrt(arcs.size)


def test_travelling_crosses_the_pole_and_the_antimeridian() -> None:
    degree = math.radians(1)
    over_pole = travel(np.zeros(1), np.radians([89.5]), np.full(1, degree), np.zeros(1))
    assert np.degrees(over_pole[1][0]) == pytest.approx(89.5)
    assert abs(np.degrees(over_pole[0][0])) == pytest.approx(180)
    east = travel(np.radians([179.5]), np.zeros(1), np.full(1, degree), np.full(1, math.pi / 2))
    assert np.degrees(east[0][0]) == pytest.approx(180.5)


def test_the_sampler_rate_allows_for_precision_and_the_ellipsoid() -> None:
    assert 0 < NOISE.correction < 2e-6
    assert NOISE.rate < (float(NOISE.declared) - NOISE.correction) / float(WGS84_STRETCH)
    two = PlanarLaplace(NOISE.epsilon * 2, 2, 2, 1000)
    assert two.rate == NOISE.rate


@pytest.mark.parametrize("radius", [1, 5, 20, 50, 200, 5000])
@pytest.mark.parametrize("latitude", [0.0, 52.5, 84.9])
def test_snapping_adds_less_than_a_hundredth_of_the_level(radius: int, latitude: float) -> None:
    """Snapping to a grid increases the privacy loss by less than a hundredth of the level.

    The test moves pairs of positions that are a fiftieth of a grid step apart, many of which are
    snapped to different grid points.
    """
    level = make_level("ln 4", radius)
    noise = PlanarLaplace(level.epsilon, 1, grid_step(radius), input_step(radius))
    assert noise.loss_within(radius) < level.epsilon * radius * Fraction(101, 100)
    apart = Fraction(input_step(radius), 50_000)
    generator = np.random.default_rng(radius)
    east, north = generator.uniform(-3 * noise.snapping, 3 * noise.snapping, (2, 20_000))
    bearing = generator.uniform(0, 2 * math.pi, 20_000)
    here = (east, north)
    there = (east + float(apart) * np.sin(bearing), north + float(apart) * np.cos(bearing))

    def snapped(metres: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        wide = EARTH_RADIUS_METRES * math.cos(math.radians(latitude))
        grid = GroundGrid(noise.snapping)
        places = (metres[0] / wide, math.radians(latitude) + metres[1] / EARTH_RADIUS_METRES)
        return np.stack(grid.snap(*places)) * [[wide], [EARTH_RADIUS_METRES]]

    distances = np.hypot(*(snapped(here) - snapped(there)))
    assert distances.max() <= float(noise.snapped_apart(apart)) * (1 + 1e-6)
    assert distances.max() > noise.snapping / 2, "No pair lay across an edge."


def test_a_level_too_small_for_floating_point_is_refused() -> None:
    with pytest.raises(InvalidInput) as refused:
        PlanarLaplace(Fraction(1, 10**9), 1, 1, 1000)
    assert refused.value.field == "level"
    with pytest.raises(ValueError, match="positive"):
        PlanarLaplace(Fraction(0), 1, 1, 1000)
    with pytest.raises(InvalidInput, match="Is too large for this radius"):
        PlanarLaplace(Fraction(8), 1, grid_step(1), input_step(1))


def positions(
    lon: list[float],
    lat: list[float],
    time: int | None = None,
    missing: int = 0,
    codes: int | None = None,
) -> PrivatePositions:
    times = None if time is None else np.full(len(lon), time)
    numbers = None if codes is None else np.full(len(lon), codes, dtype=np.int32)
    return PrivatePositions(
        lambda: iter([Reports(np.array(lon), np.array(lat), times, numbers)]),
        sensitivity=3,
        missing=lambda: missing,
    )


def meter() -> Meter:
    return Meter([Spend(label="reports", epsilon=NOISE.epsilon * 3)], SeededEntropy(1))


def test_perturbed_reports_are_sorted_by_output_and_charged_together() -> None:
    area = Truncation(CITY, GroundGrid(2))
    several = positions([10.1] * 500, [50.05] * 500, 7)
    used = meter()
    moved = used.perturb("reports", several, area, input_step=1000)
    assert moved.noise.sensitivity == 3
    assert moved.noise.declared == NOISE.epsilon
    keys = list(zip(moved.longitude.tolist(), moved.latitude.tolist(), strict=True))
    assert keys == sorted(keys)
    assert moved.time is not None
    assert (moved.time == 7).all()
    assert used.finish()[0].noise == moved.noise
    with pytest.raises(PrivacyError):
        used.perturb("reports", several, area, input_step=1000)


def test_padding_adds_missing_reports_anywhere_in_the_area(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dpgeo.privacy.meter.PADDING_CHUNK", 700)
    area = Truncation(CITY, GroundGrid(2))
    few = positions([10.1], [50.05], missing=2000)
    assert len(meter().perturb("reports", few, area, input_step=1000).longitude) == 1
    moved = meter().perturb("reports", few, area, input_step=1000, padded=True)
    assert len(moved.longitude) == 2001
    assert (np.diff(moved.longitude) >= 0).all()
    quarters = np.histogram2d(moved.longitude / 1e7, moved.latitude / 1e7, bins=2)[0]
    assert quarters.min() > 400
    timed = positions([10.1], [50.05], 7)
    described = positions([10.1], [50.05], codes=7)
    with pytest.raises(PrivacyError, match="no times"):
        meter().perturb("reports", timed, area, input_step=1000, padded=True)
    with pytest.raises(PrivacyError, match="no attributes"):
        meter().perturb("reports", described, area, input_step=1000, padded=True)


def test_attributes_are_the_last_sort_key_of_reports() -> None:
    """Attributes are the last key by which reports are sorted.

    Otherwise the order of reports with the same place and time would be that of the private rows.
    """
    several = positions([10.1] * 5, [50.05] * 5, 7)
    [part] = several._read_by_meter()
    shuffled = dataclasses.replace(part, attributes=np.array([3, 1, 2, 0, 4], dtype=np.int32))
    private = PrivatePositions(lambda: iter([shuffled]), sensitivity=3, missing=lambda: 0)
    spend = [Spend(label="reports", epsilon=NOISE.epsilon * 3)]
    area = Truncation(CITY, GroundGrid(2))
    moved = Meter(spend, ZeroNoise()).perturb("reports", private, area, input_step=1000)
    assert moved.attributes is not None
    assert moved.attributes.tolist() == [0, 1, 2, 3, 4]


def test_only_private_positions_are_perturbed_and_only_there_read() -> None:
    area = Truncation(CITY, GroundGrid(2))
    with pytest.raises(PrivacyError):
        meter().perturb("reports", np.zeros((3, 2)), area, input_step=1000)  # type: ignore[arg-type]
    private = positions([10.1], [50.05])
    with pytest.raises(TypeError):
        list(private)
    with pytest.raises(TypeError):
        private.sensitivity = 1  # type: ignore[misc]
    assert repr(private) == "PrivatePositions(sensitivity=3)"
