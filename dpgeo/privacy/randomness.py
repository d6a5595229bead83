"""Where random words come from, as an interface: production and tests each bring their own."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class RandomWords(Protocol):
    """A stream of independent, uniform 64-bit words."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """The next `count` words."""


class Entropy(Protocol):
    """Opens streams of random words."""

    def stream(self) -> RandomWords:
        """A fresh stream, independent of every other; keyed now, not before."""
