"""Planar Laplace noise for single positions, for use on a user's own device.

`LocalPlanarLaplace(entropy, level="ln 4", radius=200).move(longitude, latitude)` needs no server,
no study area and no Django. The caller supplies the randomness; the command `perturb` takes it from
the operating system.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpgeo.core.errors import InvalidInput
from dpgeo.core.levels import make_level
from dpgeo.core.noise import PlanarLaplace
from dpgeo.privacy.planar_laplace_sampler import move
from dpgeo.privacy.randomness import Entropy
from dpgeo.spatial.ground_grid import grid_step, input_step


class LocalPlanarLaplace:
    """Perturbs positions, given a privacy level and the radius in metres within which it holds.

    If one person makes several reports, their privacy costs add up. Raises InvalidInput for an
    invalid level or radius.
    """

    def __init__(self, entropy: Entropy, *, level: object, radius: object) -> None:
        self.level = make_level(level, radius)
        radius = self.level.radius
        self.noise = PlanarLaplace(self.level.epsilon, 1, grid_step(radius), input_step(radius))
        self._stream = entropy.stream()

    def move(
        self, longitude: ArrayLike, latitude: ArrayLike
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Perturb positions (n,) in degrees, which may lie anywhere on Earth.

        Raises InvalidInput for values that are not positions.
        """
        east = np.atleast_1d(np.asarray(longitude, dtype=np.float64))
        north = np.atleast_1d(np.asarray(latitude, dtype=np.float64))
        if not (np.isfinite(east) & (np.abs(east) <= 180)).all():
            raise InvalidInput("Must be degrees from -180 to 180.", field="lon")
        if not (np.isfinite(north) & (np.abs(north) <= 90)).all():
            raise InvalidInput("Must be degrees from -90 to 90.", field="lat")
        moved = move(east, north, self.noise, self._stream)
        return moved[0].round(7), moved[1].round(7)
