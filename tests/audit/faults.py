"""Planted faults: a Meter, which draws a mechanism's noise and charges for it, draws too little."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any
from unittest import mock

from dpgeo.core.noise import DiscreteGaussian, DiscreteLaplace, PlanarLaplace
from dpgeo.privacy import (
    exponential_mechanism,
    gaussian_sampler,
    gaussian_threshold,
    sampler,
    sparse_threshold,
)
from dpgeo.privacy import meter as meter_module
from dpgeo.privacy import planar_laplace_sampler as planar


@contextmanager
def epsilon_times(factor: Fraction) -> Iterator[None]:
    """Within the block, draw all noise as if the declared epsilon were multiplied by `factor`.

    For Gaussian noise, the declared rho is multiplied instead.
    """

    def gaussian(draw: Callable[..., Any]) -> Callable[..., Any]:
        def less(noise: DiscreteGaussian, *rest: Any) -> Any:
            return draw(DiscreteGaussian(noise.rho * factor, noise.squared_sensitivity), *rest)

        return less

    def wrong(noise: DiscreteLaplace) -> DiscreteLaplace:
        return DiscreteLaplace(noise.epsilon * factor, noise.sensitivity)

    def sample(noise: DiscreteLaplace, *rest: Any) -> Any:
        return sampler.sample(wrong(noise), *rest)

    def sample_passing(noise: DiscreteLaplace, *rest: Any) -> Any:
        return sparse_threshold.sample_passing(wrong(noise), *rest)

    def sample_geometric(rate: Fraction, *rest: Any) -> Any:
        return sampler.sample_geometric(rate * factor, *rest)

    def move(longitude: Any, latitude: Any, noise: PlanarLaplace, random: Any) -> Any:
        less = dataclasses.replace(noise, epsilon=noise.epsilon * factor)
        return planar.move(longitude, latitude, less, random)

    with (
        mock.patch.object(meter_module, "sample", sample),
        mock.patch.object(meter_module, "sample_passing", sample_passing),
        mock.patch.object(meter_module, "sample_geometric", sample_geometric),
        mock.patch.object(exponential_mechanism, "sample_geometric", sample_geometric),
        mock.patch.object(meter_module, "move", move),
        mock.patch.object(gaussian_sampler, "sample", gaussian(gaussian_sampler.sample)),
        mock.patch.object(
            gaussian_threshold, "sample_passing", gaussian(gaussian_threshold.sample_passing)
        ),
        mock.patch.object(
            gaussian_threshold, "sample_beyond", gaussian(gaussian_threshold.sample_beyond)
        ),
    ):
        yield
