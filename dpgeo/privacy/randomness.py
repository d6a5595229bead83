"""Interface of random streams; there are implementations for production and for tests."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class RandomWords(Protocol):
    """A stream of independent, uniform 64-bit words."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next `count` random 64-bit words, uint64 (count,)."""


class Entropy(Protocol):
    """Source of random streams."""

    def stream(self) -> RandomWords:
        """Open a new stream, independent of all other streams."""
