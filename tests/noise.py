"""Noise distributions, after a check that they are of the kind that a test expects."""

from __future__ import annotations

from dpgeo.core.noise import DiscreteGaussian, DiscreteLaplace, Noise


def laplace(noise: Noise | None) -> DiscreteLaplace:
    """Return discrete Laplace noise. Raises AssertionError if the noise is of another kind."""
    assert isinstance(noise, DiscreteLaplace)
    return noise


def gaussian(noise: Noise | None) -> DiscreteGaussian:
    """Return discrete Gaussian noise. Raises AssertionError if the noise is of another kind."""
    assert isinstance(noise, DiscreteGaussian)
    return noise
