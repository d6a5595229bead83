"""Checks that noise is of the kind that a test expects, which type checkers also understand."""

from __future__ import annotations

from dpgeo.core.noise import DiscreteGaussian, DiscreteLaplace, Noise


def laplace(noise: Noise | None) -> DiscreteLaplace:
    """Return `noise` unchanged. Raises AssertionError if it is not discrete Laplace."""
    assert isinstance(noise, DiscreteLaplace)
    return noise


def gaussian(noise: Noise | None) -> DiscreteGaussian:
    """Return `noise` unchanged. Raises AssertionError if it is not discrete Gaussian."""
    assert isinstance(noise, DiscreteGaussian)
    return noise
