"""Random streams of 64-bit words for tests: from a seed, all zeros, or given by a test."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpgeo.privacy.randomness import RandomWords


class SeededEntropy:
    """Entropy from a seed: its streams differ from each other but are the same in every run."""

    def __init__(self, seed: int) -> None:
        self._seeds = np.random.SeedSequence(seed)

    def stream(self) -> SeededWords:
        """Return the next stream of this seed."""
        return SeededWords(self._seeds.spawn(1)[0])


class SeededWords:
    """64-bit words from a pseudo-random generator, good enough for statistics but not secret."""

    def __init__(self, seed: int | np.random.SeedSequence) -> None:
        self._generator = np.random.SFC64(seed)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next `count` words."""
        return np.asarray(self._generator.random_raw(count), dtype=np.uint64)


class ZeroNoise:
    """Entropy that makes all noise 0, to test mechanisms without noise."""

    def stream(self) -> ZeroWords:
        """Return a stream of zeros, which select a sampling table's first entry: 0 for noise."""
        return ZeroWords()


class ZeroWords:
    """A stream of words that are all zero."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return `count` zeros."""
        return np.zeros(count, dtype=np.uint64)


@dataclass
class CraftedWords:
    """A stream that contains exactly the given words; asking for more is an error."""

    remaining: list[int]

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next `count` of the given words."""
        assert count <= len(self.remaining), "More words were drawn than the test foresaw."
        taken, self.remaining = self.remaining[:count], self.remaining[count:]
        return np.array(taken, dtype=np.uint64)


@dataclass
class CountingEntropy:
    """Entropy that counts opened streams, to show that nothing was drawn before a refusal."""

    inner: SeededEntropy | ZeroNoise = field(default_factory=ZeroNoise)
    opened: int = 0

    def stream(self) -> RandomWords:
        """Return a new stream from `inner`, and add 1 to the number of opened streams."""
        self.opened += 1
        return self.inner.stream()
