"""Exact discrete Laplace noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.noise import DiscreteLaplace
from dpgeo.privacy.randomness import RandomWords


def sample(noise: DiscreteLaplace, size: int, random: RandomWords) -> NDArray[np.int64]:
    """`size` independent draws."""
    raise NotImplementedError
